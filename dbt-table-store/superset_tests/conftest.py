"""Superset as it is installed, with a database of its own, and tables behind it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive

pytest_plugins = ["thrift_fixture"]

_TABLES = """
CREATE SCHEMA shop;
CREATE TABLE shop.orders (id INT COMMENT 'of the shop', item STRING, at TIMESTAMP,
  amount DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED) COMMENT 'all orders';
INSERT INTO shop.orders SELECT id, concat('item ', id % 3),
  TIMESTAMP '2026-01-01 00:00:00' + make_dt_interval(CAST(id AS INT)), id / 4 FROM range(120);
CREATE VIEW shop.recent AS SELECT * FROM shop.orders WHERE id > 100;
CREATE MATERIALIZED VIEW shop.totals AS SELECT item, sum(amount) AS total FROM shop.orders
  GROUP BY item
"""


@dataclass(frozen=True)
class Superset:
    """Its REST interface, for a user who may do everything; `database` is that of the tables."""

    client: Any
    headers: dict[str, str]
    database: int = 0

    def get(self, path: str) -> Any:
        return self._said(self.client.get(f"/api/v1/{path}", headers=self.headers))

    def post(self, path: str, **body: Any) -> Any:
        return self._said(self.client.post(f"/api/v1/{path}", json=body, headers=self.headers))

    @staticmethod
    def _said(answer: Any) -> Any:
        assert answer.status_code < 300, answer.get_data(as_text=True)
        return answer.json


@pytest.fixture(scope="session")
def tables(server: tuple[str, int]) -> None:
    cursor = hive.connect(*server).cursor()
    for statement in _TABLES.split(";"):
        cursor.execute(statement)


@pytest.fixture(scope="session")
def superset(
    server: tuple[str, int], tables: None, tmp_path_factory: pytest.TempPathFactory
) -> Superset:
    folder = tmp_path_factory.mktemp("superset")
    config = Path(folder, "superset_config.py")
    config.write_text(
        f"SECRET_KEY = {'x' * 42!r}\n"
        f"SQLALCHEMY_DATABASE_URI = 'sqlite:///{folder}/meta.db?check_same_thread=false'\n"
        "WTF_CSRF_ENABLED = TALISMAN_ENABLED = False\n"
    )
    os.environ["SUPERSET_CONFIG_PATH"] = str(config)
    from superset.app import create_app

    app = create_app()
    with app.app_context():
        from flask_appbuilder import Model
        from superset.extensions import appbuilder, db, security_manager

        Model.metadata.create_all(db.engine)
        appbuilder.add_permissions(update_perms=True)
        security_manager.sync_role_definitions()
        role = security_manager.find_role("Admin")
        security_manager.add_user("admin", "a", "b", "a@example.com", role, password="pw")
    client = app.test_client()
    user = {"username": "admin", "password": "pw", "provider": "db"}
    token = client.post("/api/v1/security/login", json=user).json["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    made = Superset(client, headers).post(
        "database/",
        database_name="Spark Table Store",
        sqlalchemy_uri="tablestore://me@{}:{}/default".format(*server),
        expose_in_sqllab=True,
        allow_dml=True,
        allow_ctas=True,
    )
    return Superset(client, headers, made["id"])
