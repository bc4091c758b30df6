{% materialization incremental, adapter='tablestore' -%}
  {%- set strategy = config.get('incremental_strategy') or ('merge' if config.get('unique_key') else 'append') -%}
  {%- set strategy_macro = adapter.get_incremental_strategy_macro(context, strategy) -%}
  {%- set on_schema_change = incremental_validate_on_schema_change(config.get('on_schema_change'), default='ignore') -%}
  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {{ run_hooks(pre_hooks) }}

  {%- if existing_relation is none or not existing_relation.is_table or should_full_refresh() -%}
    {%- do tablestore_build_table(existing_relation, target_relation, compiled_code) -%}
  {%- else -%}
    {%- set temp_relation = make_temp_relation(target_relation) -%}
    {%- if config.get('contract').enforced -%}
      {{ get_assert_columns_equivalent(compiled_code) }}
    {%- endif -%}
    {%- do run_query(create_temporary_view(temp_relation, compiled_code)) -%}
    {%- set dest_columns = process_schema_changes(on_schema_change, temp_relation, existing_relation) -%}
    {%- if not dest_columns -%}
      {%- set dest_columns = adapter.get_columns_in_relation(existing_relation) -%}
    {%- endif -%}
    {%- call statement('main') -%}
      {{ strategy_macro({
          'target_relation': target_relation,
          'temp_relation': temp_relation,
          'unique_key': config.get('unique_key'),
          'dest_columns': dest_columns,
          'incremental_predicates': config.get('predicates') or config.get('incremental_predicates'),
      }) }}
    {%- endcall -%}
  {%- endif -%}

  {%- do apply_grants(target_relation, config.get('grants'), should_revoke=True) -%}
  {%- do persist_docs(target_relation, model) -%}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target_relation]}) }}
{%- endmaterialization %}


{#- Each strategy writes the columns of the query by name: the table may have others, and another order. -#}
{% macro tablestore__get_incremental_append_sql(arg_dict) -%}
  {%- set columns = arg_dict['dest_columns'] | map(attribute='quoted') | join(', ') -%}
  insert into {{ arg_dict['target_relation'] }} ({{ columns }})
  select {{ columns }} from {{ arg_dict['temp_relation'] }}
{%- endmacro %}


{#- dbt's own; dbt-spark's needs all columns of the table. -#}
{% macro tablestore__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates=none) -%}
  {{ default__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) }}
{%- endmacro %}


{% macro tablestore__get_merge_update_columns(merge_update_columns, merge_exclude_columns, dest_columns) -%}
  {{ return(default__get_merge_update_columns(merge_update_columns, merge_exclude_columns, dest_columns)) }}
{%- endmacro %}


{#- One MERGE: who reads the table sees the old rows or the new ones. A row of the source without
    `__gone` matches nothing and is inserted; one key stands for all rows that are to go. Names of
    the source begin so that those of a predicate can only be the table's. -#}
{% macro tablestore__get_incremental_delete_insert_sql(arg_dict) -%}
  {%- set columns = arg_dict['dest_columns'] | map(attribute='quoted') | list -%}
  {%- set keys = arg_dict['unique_key'] -%}
  {%- if not keys -%}
    {{ return(get_incremental_append_sql(arg_dict)) }}
  {%- endif -%}
  {%- set keys = [keys] if keys is string else keys -%}
  {%- set conditions = ['source.__gone'] -%}
  {%- for key in keys -%}
    {%- do conditions.append('DBT_INTERNAL_DEST.' ~ key ~ ' = source.__key_' ~ loop.index) -%}
  {%- endfor -%}
  {%- for predicate in arg_dict['incremental_predicates'] or [] -%}
    {%- do conditions.append('(' ~ predicate ~ ')') -%}
  {%- endfor -%}
  merge into {{ arg_dict['target_relation'] }} as DBT_INTERNAL_DEST
  using (
    select {% for column in columns %}{{ column }} as __{{ loop.index }}, {% endfor %}
      {%- for key in keys %}null as __key_{{ loop.index }}, {% endfor %}false as __gone
    from {{ arg_dict['temp_relation'] }}
    union all
    select distinct {% for column in columns %}null, {% endfor %}
      {%- for key in keys %}{{ key }}, {% endfor %}true
    from {{ arg_dict['temp_relation'] }}
  ) as source
  on {{ conditions | join(' and ') }}
  when matched then delete
  when not matched and not source.__gone then insert ({{ columns | join(', ') }})
    values ({% for column in columns %}source.__{{ loop.index }}{{ ', ' if not loop.last }}{% endfor %})
{%- endmacro %}


{#- With partitions, those that the query has rows of; without, the whole table. -#}
{% macro tablestore__get_incremental_insert_overwrite_sql(arg_dict) -%}
  {%- set columns = arg_dict['dest_columns'] | map(attribute='quoted') | join(', ') -%}
  {%- do run_query('set spark.sql.sources.partitionOverwriteMode = '
        ~ ('DYNAMIC' if config.get('partition_by') else 'STATIC')) -%}
  insert overwrite {{ arg_dict['target_relation'] }} ({{ columns }})
  select {{ columns }} from {{ arg_dict['temp_relation'] }}
{%- endmacro %}


{% macro tablestore__get_incremental_microbatch_sql(arg_dict) -%}
  {%- if not config.get('partition_by') -%}
    {% do exceptions.raise_compiler_error(
      "The strategy 'microbatch' replaces partitions and needs `partition_by`, a column as coarse as the batches: "
      ~ config.get('batch_size')) %}
  {%- endif -%}
  {{ return(get_incremental_insert_overwrite_sql(arg_dict)) }}
{%- endmacro %}
