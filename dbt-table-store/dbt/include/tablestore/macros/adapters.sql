{#- The text of a comment or an option, as a literal of Spark SQL. -#}
{% macro tablestore_literal(text) -%}
  '{{ text | string | replace("\\", "\\\\") | replace("'", "\\'") }}'
{%- endmacro %}


{% macro tablestore__file_format_clause() -%}
  {%- set file_format = config.get('file_format') -%}
  {%- if file_format is not none and file_format not in ['tablestore', 'table_store'] -%}
    {% do exceptions.raise_compiler_error(
      "file_format '" ~ file_format ~ "' is not made by this adapter: leave it out, and the model is a managed table. "
      ~ "For other formats use a profile of type spark.") %}
  {%- endif -%}
{%- endmacro %}


{% macro tablestore__tblproperties_clause() -%}
  {%- set options = config.get('tblproperties') -%}
  {%- if options %}
    tblproperties (
      {%- for key in options -%}
      {{ tablestore_literal(key) }} = {{ tablestore_literal(options[key]) }}{{ ', ' if not loop.last }}
      {%- endfor -%}
    )
  {%- endif -%}
{%- endmacro %}


{% macro tablestore__comment_clause() -%}
  {%- if config.persist_relation_docs() and model.description %}
    comment {{ tablestore_literal(model.description) }}
  {%- endif -%}
{%- endmacro %}


{#- Which columns of a query have a comment, as the list of columns of a view. -#}
{% macro tablestore_view_columns(sql) -%}
  {%- if config.persist_column_docs() and model.columns -%}
    {%- set described = {} -%}
    {%- for name in model.columns -%}
      {%- do described.update({name | lower: model.columns[name]['description']}) -%}
    {%- endfor -%}
    {%- for name in get_columns_in_query(sql) -%}
      {{ adapter.quote(name) }}
      {%- if described.get(name | lower) %} comment {{ tablestore_literal(described[name | lower]) }}{% endif -%}
      {{ ', ' if not loop.last }}
    {%- endfor -%}
  {%- endif -%}
{%- endmacro %}


{% macro tablestore__create_view_as(relation, sql) -%}
  {%- set columns = tablestore_view_columns(sql) -%}
  {%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(sql) }}
  {%- endif -%}
  create or replace view {{ relation }}
  {%- if columns %} ({{ columns }}){% endif %}
  {{ comment_clause() }}
  as
    {{ sql }}
{%- endmacro %}


{#- A comment is changed only where it differs: each change is a version of the table's schema. -#}
{% macro tablestore__persist_docs(relation, model, for_relation, for_columns) -%}
  {%- set columns = adapter.get_columns_in_relation(relation) -%}
  {%- if for_relation and config.persist_relation_docs() and not relation.is_view and columns
        and columns[0].table_comment != model.description | trim -%}
    {%- do run_query('comment on table ' ~ relation ~ ' is ' ~ tablestore_literal(model.description | trim)) -%}
  {%- endif -%}
  {%- if for_columns and config.persist_column_docs() and model.columns -%}
    {%- set documented = validate_doc_columns(relation, model.columns, columns | map(attribute='name') | list) -%}
    {%- set comments = {} -%}
    {%- for column in columns -%}
      {%- do comments.update({column.name | lower: column.column_comment}) -%}
    {%- endfor -%}
    {%- if relation.is_table -%}
      {%- for name in documented if comments[name | lower] != documented[name]['description'] -%}
        {%- do run_query('alter table ' ~ relation ~ ' alter column ' ~ adapter.quote(name)
              ~ ' comment ' ~ tablestore_literal(documented[name]['description'])) -%}
      {%- endfor -%}
    {%- endif -%}
  {%- endif -%}
{%- endmacro %}


{% macro tablestore__alter_relation_add_remove_columns(relation, add_columns, remove_columns) -%}
  {%- if add_columns -%}
    {%- set added -%}
      alter table {{ relation }} add columns (
        {%- for column in add_columns -%}
          {{ column.quoted }} {{ column.data_type }}{{ ', ' if not loop.last }}
        {%- endfor -%}
      )
    {%- endset -%}
    {%- do run_query(added) -%}
  {%- endif -%}
  {%- if remove_columns -%}
    {%- do run_query('alter table ' ~ relation ~ ' drop columns ('
          ~ (remove_columns | map(attribute='quoted') | join(', ')) ~ ')') -%}
  {%- endif -%}
{%- endmacro %}


{% macro tablestore__alter_column_type(relation, column_name, new_column_type) -%}
  {%- do run_query('alter table ' ~ relation ~ ' alter column ' ~ adapter.quote(column_name)
        ~ ' type ' ~ new_column_type) -%}
{%- endmacro %}


{% macro tablestore__apply_grants(relation, grant_config, should_revoke=True) -%}
  {%- if grant_config -%}
    {%- do exceptions.warn('grants of ' ~ relation ~ ' are not applied: the table store keeps no rights; '
          ~ 'who may read its files and who reaches the Thrift server decides.') -%}
  {%- endif -%}
{%- endmacro %}
