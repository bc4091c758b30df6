{#- Each kind by its own statement. A DROP does not cascade: what stands on a table is suspended. -#}

{% macro tablestore__drop_relation(relation) -%}
  {% call statement('drop_relation', auto_begin=False) -%}
    {{ get_drop_sql(relation) }}
  {%- endcall %}
{%- endmacro %}

{% macro tablestore__drop_table(relation) -%}
  drop table if exists {{ relation }}
{%- endmacro %}

{% macro tablestore__drop_view(relation) -%}
  drop view if exists {{ relation }}
{%- endmacro %}

{% macro tablestore__drop_materialized_view(relation) -%}
  drop materialized view if exists {{ relation }}
{%- endmacro %}

{% macro tablestore__rename_relation(from_relation, to_relation) -%}
  {% call statement('rename_relation') -%}
    alter {{ from_relation.type | replace('_', ' ') }} {{ from_relation }} rename to {{ to_relation }}
  {%- endcall %}
{%- endmacro %}

{#- What has the name of a model but is of another kind goes, since no statement replaces it. -#}
{% macro tablestore_drop_other_kind(existing_relation, kind) -%}
  {%- if existing_relation is not none and existing_relation.type != kind -%}
    {{ log('Dropping relation ' ~ existing_relation ~ ' because it is a ' ~ existing_relation.type) }}
    {%- do adapter.drop_relation(existing_relation) -%}
  {%- endif -%}
{%- endmacro %}
