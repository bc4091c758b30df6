{#- The columns of a model with a contract: types, constraints, comments and the key. -#}
{% macro tablestore_column_definitions() -%}
  {%- set keys = [] -%}
  {%- set checks = [] -%}
  {%- for name in model.columns -%}
    {%- for constraint in model.columns[name].get('constraints') or [] -%}
      {%- if constraint.type == 'primary_key' -%}
        {%- do keys.append(adapter.quote(name) if model.columns[name].get('quote') else name) -%}
      {%- elif constraint.type == 'check' -%}
        {%- do checks.append(constraint) -%}
      {%- endif -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- set columns = [] -%}
  {%- for rendered in adapter.render_raw_columns_constraints(raw_columns=model['columns']) -%}
    {%- set comment = (model['columns'].values() | list)[loop.index0]['description'] -%}
    {%- if comment and config.persist_column_docs() -%}
      {%- do columns.append(rendered ~ ' comment ' ~ tablestore_literal(comment)) -%}
    {%- else -%}
      {%- do columns.append(rendered) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- set rules = adapter.render_raw_model_constraints(raw_constraints=model['constraints'] + checks) -%}
  {%- if keys -%}
    {%- do rules.append('primary key (' ~ (keys | join(', ')) ~ ') not enforced') -%}
  {%- endif -%}
  ({{ (columns + rules) | join(', ') }})
{%- endmacro %}


{#- A table without rows, in place of one that there may be. -#}
{% macro tablestore_create_defined(relation) -%}
  create or replace table {{ relation }} {{ tablestore_column_definitions() }}
  {{ comment_clause() }}
  {{ partition_cols(label='partitioned by') }}
  {{ tblproperties_clause() }}
{%- endmacro %}


{% macro tablestore__create_table_as(temporary, relation, compiled_code, language='sql') -%}
  {%- if language != 'sql' -%}
    {% do exceptions.raise_compiler_error('Models in Python are not run: this adapter talks SQL with a Thrift server') %}
  {%- elif temporary -%}
    {{ create_temporary_view(relation, compiled_code) }}
  {%- else -%}
    {{ file_format_clause() }}
    create or replace table {{ relation }}
    {{ comment_clause() }}
    {{ partition_cols(label='partitioned by') }}
    {{ tblproperties_clause() }}
    as
    {{ compiled_code }}
  {%- endif -%}
{%- endmacro %}


{#- Brings a table to the rows of a query, in one commit wherever its definition stays. With a
    contract the rows are first written to a table beside it if the definition changes, so that rows
    which break a rule leave the old table as it was. -#}
{% macro tablestore_build_table(existing_relation, target_relation, compiled_code) -%}
  {%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(compiled_code) }}
    {%- set rows = get_select_subquery(compiled_code) -%}
    {%- set beside = make_intermediate_relation(target_relation) -%}
    {{ file_format_clause() }}
    {%- call statement('definition') -%}
      {{ tablestore_create_defined(beside) }}
    {%- endcall -%}
    {%- if tablestore_is_defined_as(existing_relation, beside) -%}
      {%- do adapter.drop_relation(beside) -%}
      {%- do run_query('set spark.sql.sources.partitionOverwriteMode = STATIC') -%}
      {%- call statement('main') -%}
        insert overwrite {{ target_relation }} {{ rows }}
      {%- endcall -%}
    {%- else -%}
      {%- call statement('main') -%}
        insert into {{ beside }} {{ rows }}
      {%- endcall -%}
      {%- do tablestore_drop_other_kind(existing_relation, 'table') -%}
      {%- if existing_relation is not none and existing_relation.is_table -%}
        {%- do run_query(tablestore_create_defined(target_relation)) -%}
        {%- do run_query('insert into ' ~ target_relation ~ ' select * from ' ~ beside) -%}
        {%- do adapter.drop_relation(beside) -%}
      {%- else -%}
        {%- do adapter.rename_relation(beside, target_relation) -%}
      {%- endif -%}
    {%- endif -%}
  {%- else -%}
    {%- do tablestore_drop_other_kind(existing_relation, 'table') -%}
    {%- call statement('main') -%}
      {{ create_table_as(False, target_relation, compiled_code) }}
    {%- endcall -%}
  {%- endif -%}
{%- endmacro %}


{% macro tablestore_is_defined_as(existing_relation, other) -%}
  {%- if existing_relation is none or not existing_relation.is_table -%}
    {{ return(false) }}
  {%- endif -%}
  {%- set texts = [] -%}
  {%- for relation in [existing_relation, other] -%}
    {%- set text = run_query('show create table ' ~ relation).rows[0][0] -%}
    {%- do texts.append(text | replace(other.identifier, existing_relation.identifier)) -%}
  {%- endfor -%}
  {{ return(texts[0] == texts[1]) }}
{%- endmacro %}


{% materialization table, adapter='tablestore' -%}
  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {{ run_hooks(pre_hooks) }}
  {%- do tablestore_build_table(existing_relation, target_relation, compiled_code) -%}
  {%- do apply_grants(target_relation, config.get('grants'), should_revoke=True) -%}
  {%- do persist_docs(target_relation, model) -%}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target_relation]}) }}
{%- endmaterialization %}
