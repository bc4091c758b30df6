{#- dbt's own drops a table in the place of a view, but no materialized view. -#}
{% materialization view, adapter='tablestore' -%}
  {%- do tablestore_drop_other_kind(load_cached_relation(this), 'view') -%}
  {{ return(create_or_replace_view()) }}
{%- endmaterialization %}


{#- Seeds, snapshots and clones: dbt's own, which dbt-spark changes for tables that cannot be replaced or merged. -#}

{% macro tablestore__create_csv_table(model, agate_table) -%}
  {%- set types = model['config'].get('column_types', {}) -%}
  {%- set is_quoted = model['config'].get('quote_columns', None) -%}
  {%- set sql -%}
    create or replace table {{ this.render() }} (
      {%- for name in agate_table.column_names -%}
        {{ adapter.quote_seed_column(name | string, is_quoted) }}
        {{ types.get(name, adapter.convert_type(agate_table, loop.index0)) }}{{ ', ' if not loop.last }}
      {%- endfor -%}
    )
    {{ comment_clause() }}
    {{ partition_cols(label='partitioned by') }}
    {{ tblproperties_clause() }}
  {%- endset -%}
  {%- call statement('_') -%}
    {{ sql }}
  {%- endcall -%}
  {{ return(sql) }}
{%- endmacro %}


{% macro tablestore__reset_csv_table(model, full_refresh, old_relation, agate_table) -%}
  {%- do tablestore_drop_other_kind(old_relation, 'table') -%}
  {{ return(create_csv_table(model, agate_table)) }}
{%- endmacro %}


{% materialization snapshot, adapter='tablestore' -%}
  {{ return(materialization_snapshot_default()) }}
{%- endmaterialization %}


{#- There is no level of databases; dbt's snapshot passes what a model without one has. -#}
{% macro tablestore__get_or_create_relation(database, schema, identifier, type) -%}
  {{ return(default__get_or_create_relation(none, schema, identifier, type)) }}
{%- endmacro %}


{#- dbt-spark's returns the rows of DESCRIBE, by which a snapshot's record of a deletion would have no values. -#}
{% macro tablestore__get_columns_in_relation(relation) -%}
  {{ return(adapter.get_columns_in_relation(relation)) }}
{%- endmacro %}


{#- What it would remove is a temporary view, which goes with the session. -#}
{% macro tablestore__post_snapshot(staging_relation) -%}
{%- endmacro %}


{% materialization clone, adapter='tablestore' -%}
  {{ return(materialization_clone_default()) }}
{%- endmaterialization %}


{% macro tablestore__can_clone_table() -%}
  {{ return(False) }}
{%- endmacro %}
