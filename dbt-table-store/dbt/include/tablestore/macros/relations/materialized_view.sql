{% macro tablestore_view_schedule() -%}
  {%- if config.get('schedule') and config.get('trigger') -%}
    {% do exceptions.raise_compiler_error('A materialized view has a schedule or a trigger, not both') %}
  {%- elif config.get('schedule') -%}
    schedule {{ config.get('schedule') }}
  {%- elif config.get('trigger') -%}
    trigger {{ config.get('trigger') }}
  {%- endif -%}
{%- endmacro %}


{% macro tablestore_names(setting) -%}
  {%- set names = config.get(setting) or [] -%}
  {{ return([names] if names is string else names) }}
{%- endmacro %}


{% macro tablestore__get_create_materialized_view_as_sql(relation, sql) -%}
  {%- set columns = tablestore_view_columns(sql) -%}
  {%- set primary_key = tablestore_names('primary_key') -%}
  {%- if primary_key and not columns -%}
    {%- set columns = '`' ~ (get_columns_in_query(sql) | join('`, `')) ~ '`' -%}
  {%- endif -%}
  create or replace materialized view {{ relation }}
  {%- if columns %} ({{ columns }}
    {%- if primary_key %}, primary key ({{ primary_key | join(', ') }}) not enforced{% endif -%}
  ){% endif %}
  {{ comment_clause() }}
  {{ partition_cols(label='partitioned by') }}
  {{ tblproperties_clause() }}
  {% if config.get('refresh_policy') %}refresh policy {{ config.get('refresh_policy') }}{% endif %}
  {{ tablestore_view_schedule() }}
  as {{ sql }}
{%- endmacro %}


{#- The rows of the old view can be read until those of the new one are complete. -#}
{% macro tablestore__get_replace_materialized_view_sql(relation, sql) -%}
  {{ get_create_materialized_view_as_sql(relation, sql) }}
{%- endmacro %}


{% macro tablestore__get_replace_sql(existing_relation, target_relation, sql) -%}
  {%- do tablestore_drop_other_kind(existing_relation, target_relation.type) -%}
  {{ get_replace_materialized_view_sql(target_relation, sql) }}
{%- endmacro %}


{% macro tablestore__refresh_materialized_view(relation) -%}
  refresh materialized view {{ relation }}
{%- endmacro %}


{% macro tablestore__get_materialized_view_configuration_changes(existing_relation, new_config) -%}
  {%- set view = adapter.described_view(existing_relation) -%}
  {%- set columns = none -%}
  {%- if not view.has_query(sql) -%}
    {%- set wanted = make_temp_relation(existing_relation) -%}
    {%- do run_query(create_temporary_view(wanted, sql)) -%}
    {%- set columns = [] -%}
    {%- for column in adapter.get_columns_in_relation(wanted) -%}
      {%- do columns.append((column.name, column.dtype)) -%}
    {%- endfor -%}
  {%- endif -%}
  {%- set is_replaced = view.must_be_replaced(
        columns, tablestore_names('primary_key'), tablestore_names('partition_by')) -%}
  {%- set known = {} -%}
  {%- for row in run_query('show tblproperties ' ~ existing_relation) -%}
    {%- do known.update({row[0]: row[1]}) -%}
  {%- endfor -%}
  {%- set options = {} -%}
  {%- for key, value in (config.get('tblproperties') or {}).items() if known.get(key) != value | string -%}
    {%- do options.update({key: value}) -%}
  {%- endfor -%}
  {%- set clauses = view.alterations(
        sql, config.get('refresh_policy') or 'auto', tablestore_view_schedule() | trim, options) -%}
  {%- if is_replaced or clauses -%}
    {{ return({'is_replaced': is_replaced, 'clauses': clauses}) }}
  {%- endif -%}
  {{ return(none) }}
{%- endmacro %}


{#- All but the last statement are run here. The last one is a REFRESH, so that each run of a model
    leaves it up to date. -#}
{% macro tablestore__get_alter_materialized_view_as_sql(
    relation, configuration_changes, sql, existing_relation, backup_relation, intermediate_relation
) -%}
  {%- if configuration_changes['is_replaced'] -%}
    {{ get_replace_sql(existing_relation, relation, sql) }}
  {%- else -%}
    {%- for clause in configuration_changes['clauses'] -%}
      {%- do run_query('alter materialized view ' ~ relation ~ ' ' ~ clause) -%}
    {%- endfor -%}
    {{ refresh_materialized_view(relation) }}
  {%- endif -%}
{%- endmacro %}
