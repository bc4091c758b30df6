"""Goal: who asks a schema registry is what the options say, and what they lack is told."""

from __future__ import annotations

import pytest

from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.log_store.sinks.row_encoders import schema_registry
from table_store.storage.options.message_format_options import VALUE_PART
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import TABLE_OPTIONS

ADDRESS = {"url": "http://ann:pw@host:8081"}


def registry_of(**options: str) -> str | None:
    given = {f"avro-confluent.{key.replace('_', '-')}": text for key, text in options.items()}
    given = {key.replace("auth-", "auth."): text for key, text in given.items()}
    values = TABLE_OPTIONS.parse(given, OptionScope.TABLE)
    return schema_registry(values, "avro-confluent", VALUE_PART).user_info


def test_where_user_and_password_are() -> None:
    both = ADDRESS | {"basic_auth_user_info": "bob:pw"}
    assert registry_of(**ADDRESS) is None
    assert registry_of(**both) == "bob:pw"
    assert registry_of(**both, basic_auth_credentials_source="USER_INFO") == "bob:pw"
    assert registry_of(**both, basic_auth_credentials_source="URL") is None


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"basic_auth_credentials_source": "USER_INFO"}, r"user-info' is not given"),
        ({"bearer_auth_credentials_source": "STATIC_TOKEN"}, r"token' is not given"),
    ],
)
def test_what_is_said_and_not_given(options: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidOptionError, match=reason):
        registry_of(**ADDRESS, **options)


def test_an_address_that_is_none_is_not_shown() -> None:
    with pytest.raises(InvalidOptionError, match="8081") as error:
        registry_of(url="http://ann:p/w@host")
    assert "ann" not in str(error.value)
