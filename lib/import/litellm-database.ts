/** Reads the database of LiteLLM's proxy: what completes its `config.yaml`, and who may use it. */

import { ColumnPlan, TableRow } from './column-plan.ts'
import { looksEncrypted, type Decryption } from './litellm-decryption.ts'
import { readAccess } from './litellm-access.ts'
import { historyTables, noteHistory, readHistory } from './litellm-history.ts'
import { importLitellmConfig } from './litellm-config.ts'
import { budgetClock } from './litellm-budgets.ts'
import { readStoredBudgets } from './litellm-named-budgets.ts'
import { toolServerSlug } from './imported-tool-servers.ts'
import type { ImportedConfig } from './imported-config.ts'
import { ModelScopes } from './litellm-scopes.ts'
import { litellmColumns, otherTables } from './litellm-tables.ts'
import { entriesOf, isEmpty, objectOrEmpty } from './values.ts'
import { isContainer, isObject, listOf, nonEmptyText, type JsonObject } from '../json/type-guards.ts'
import type { ImportedOrganisation } from '../accounts/imported-organisation.ts'
import type { ForeignTables, SummedTable } from '../stores/postgres/read-foreign-tables.ts'

/** Prefix of LiteLLM's table names. */
export const tablePrefix = 'LiteLLM_'
export const litellmTables = new Map<string, SummedTable | 'rows'>([
  ...Object.keys(litellmColumns).map(name => [name, 'rows'] as const),
  ...historyTables
])

export interface ImportedDatabase extends ImportedConfig {
  readonly organisation: ImportedOrganisation
}

/**
 * Imports a database, together with the configuration of the proxy that uses it.
 *
 * @param file the parsed `config.yaml`, or an empty object
 * @param decryption opens what was encrypted with the salt key
 */
export function importLitellmDatabase (
  file: JsonObject,
  tables: ForeignTables,
  decryption: Decryption,
  nowMs: number,
  env: Readonly<Record<string, string | undefined>> = {}
): ImportedDatabase {
  const plan = new ColumnPlan(litellmColumns)
  const { document, paths, servers } = new DocumentReader(file, tables.rows, plan, decryption)
  const clock = budgetClock(document, nowMs)
  const stored = readStoredBudgets(tables.rows, document, plan, clock)
  const imported = importLitellmConfig(document, { nowMs, stored, env })
  const { organisation, usage } = readAccess({
    rows: tables.rows,
    plan,
    scopes: new ModelScopes(document, imported.config['models']),
    servers: new Map(servers.map(({ id, slug }) => [id, slug])),
    openServers: servers.flatMap(({ slug, isOpen }) => (isOpen ? slug : [])),
    history: readHistory(tables.rows),
    guardsOf: imported.guardsOf,
    clock
  })
  const keys = tables.rows.get('LiteLLM_VerificationToken') ?? []
  const tokens = keys.map(row => nonEmptyText(row['token']) ?? '')
  noteHistory(tables.rows, new Set(tokens), plan)
  for (const table of tables.others) {
    const name = table.slice(tablePrefix.length)
    const [, verdict, note] = otherTables.find(([names]) => names.test(name)) ?? []
    plan.note(table, 'the table has rows', verdict ?? 'unsupported', note ?? 'no counterpart')
  }
  const inDatabase = imported.rows.map(row => ({ ...row, path: pathIn(paths, row.path) }))
  const config = { ...imported.config, ...!isEmpty(usage) && { usage } }
  return { ...imported, config, rows: [...inDatabase, ...plan.rows], organisation }
}

/** Returns the path in the database of an entry that came from there. */
function pathIn (paths: ReadonlyMap<string, string>, path: string): string {
  const [, entry = ''] = /^(\w+(?:\[\d+\]|\.[^.[]+)?)/.exec(path) ?? []
  const own = paths.get(entry)
  return own === undefined ? path : own + path.slice(entry.length)
}

interface ToolServer { readonly id: string, readonly slug: string, readonly isOpen: boolean }

/** Completes a configuration with what the proxy has stored in its database, which overrides the file. */
class DocumentReader {
  readonly #rows: ReadonlyMap<string, readonly JsonObject[]>
  readonly #plan: ColumnPlan
  readonly #decryption: Decryption
  /** Where entries of the document are in the database. */
  readonly paths = new Map<string, string>()
  readonly servers: ToolServer[] = []
  readonly document: JsonObject

  constructor (
    file: JsonObject,
    rows: ReadonlyMap<string, readonly JsonObject[]>,
    plan: ColumnPlan,
    decryption: Decryption
  ) {
    this.#rows = rows
    this.#plan = plan
    this.#decryption = decryption
    const document = this.#withSettings(file)
    this.document = {
      ...document,
      ...this.#listed('model_list', document, this.#models()),
      ...this.#listed('credential_list', document, this.#credentials()),
      ...this.#listed('guardrails', document, this.#guardrails()),
      ...this.#toolServers(document)
    }
  }

  #read (table: string, ...names: readonly string[]): TableRow[] {
    return (this.#rows.get(table) ?? []).map((row, index) => {
      const name = names.map(column => nonEmptyText(row[column])).find(text => text !== undefined)
      return new TableRow(this.#plan, table, row, name ?? `row ${index + 1}`)
    })
  }

  /** Adds entries to a list of the file, and notes where they are in the database. */
  #listed (
    field: string,
    document: JsonObject,
    added: ReadonlyArray<readonly [path: string, entry: JsonObject]>
  ): JsonObject {
    const own = listOf(document[field])
    if (added.length === 0) return {}
    for (const [index, [path]] of added.entries()) this.paths.set(`${field}[${own.length + index}]`, path)
    return { [field]: [...own, ...added.map(([, entry]) => entry)] }
  }

  #withSettings (file: JsonObject): JsonObject {
    const document: Record<string, unknown> = { ...file }
    for (const row of this.#read('LiteLLM_Config', 'param_name')) {
      const settings = this.#opened(row.object('param_value'), row, 'param_value')
      if (!isEmpty(settings)) document[row.name] = { ...objectOrEmpty(file[row.name]), ...settings }
      row.noteOthers()
    }
    return document
  }

  #models (): Array<readonly [string, JsonObject]> {
    return this.#read('LiteLLM_ProxyModelTable', 'model_name').flatMap(row => {
      const entry = {
        model_name: row.text('model_name'),
        litellm_params: this.#opened(row.object('litellm_params'), row, 'litellm_params'),
        model_info: row.object('model_info')
      }
      row.noteOthers()
      return row.isTrue('blocked') ? [] : [[`LiteLLM_ProxyModelTable[${row.name}]`, entry] as const]
    })
  }

  #credentials (): Array<readonly [string, JsonObject]> {
    return this.#read('LiteLLM_CredentialsTable', 'credential_name').map(row => {
      const values = this.#opened(row.object('credential_values'), row, 'credential_values')
      row.noteOthers()
      const entry = { credential_name: row.name, credential_values: values }
      return [`LiteLLM_CredentialsTable[${row.name}]`, entry]
    })
  }

  #guardrails (): Array<readonly [string, JsonObject]> {
    return this.#read('LiteLLM_GuardrailsTable', 'guardrail_name').flatMap(row => {
      const params = this.#opened(row.object('litellm_params'), row, 'litellm_params')
      row.noteOthers()
      if ((row.text('status') ?? 'active') !== 'active') return []
      const entry = { guardrail_name: row.name, litellm_params: params }
      return [[`LiteLLM_GuardrailsTable[${row.name}]`, entry] as const]
    })
  }

  #toolServers (document: JsonObject): JsonObject {
    const servers: Record<string, unknown> = { ...objectOrEmpty(document['mcp_servers']) }
    for (const row of this.#read('LiteLLM_MCPServerTable', 'alias', 'server_name', 'server_id')) {
      const headers = this.#map(row, 'static_headers')
      const env = this.#map(row, 'env')
      const args = row.list('args')
      const entry = Object.fromEntries(
        ['url', 'transport', 'command', 'auth_type'].flatMap(name => {
          const value = row.text(name)
          return value === undefined || (name === 'auth_type' && value === 'none') ? [] : [[name, value]]
        })
      )
      row.noteOthers()
      if ((row.text('approval_status') ?? 'active') !== 'active') continue
      servers[row.name] = {
        ...entry,
        ...!isEmpty(headers) && { static_headers: headers },
        ...args.length > 0 && { args },
        ...!isEmpty(env) && { env }
      }
      this.paths.set(`mcp_servers.${row.name}`, `LiteLLM_MCPServerTable[${row.name}]`)
      this.servers.push({
        id: row.text('server_id') ?? '',
        slug: toolServerSlug('litellm', row.name),
        isOpen: row.isTrue('allow_all_keys')
      })
    }
    return isEmpty(servers) ? {} : { mcp_servers: servers }
  }

  /** Reads a map, which may be encrypted as a whole. */
  #map (row: TableRow, column: string): JsonObject {
    const sealed = row.text(column)
    const text = sealed === undefined ? undefined : this.#decryption.open(sealed)
    if (text === undefined) return this.#opened(row.object(column), row, column)
    return objectOrEmpty(JSON.parse(text))
  }

  /** Opens the texts of an object that are encrypted. One that cannot be opened is left out. */
  #opened (value: JsonObject, row: TableRow, column: string): JsonObject {
    return Object.fromEntries(entriesOf(value).flatMap(([name, entry]) => {
      if (isObject(entry)) return [[name, this.#opened(entry, row, column)]]
      if (typeof entry !== 'string' || isContainer(entry)) return [[name, entry]]
      const text = this.#decryption.open(entry)
      if (text !== undefined) return [[name, text]]
      if (!looksEncrypted(entry)) return [[name, entry]]
      row.note(`${column}.${name}`, 'manual', `left out, as it is encrypted: ${this.#decryption.advice}`)
      return []
    }))
  }
}
