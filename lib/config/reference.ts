/** Prints the configuration reference from its schema: every entry with type, default and description. */

import { Config } from '../../schemas/config.ts'
import { isObject, objectOf, nonEmptyText, type JsonObject } from '../json/type-guards.ts'
import { withoutNote } from '../../schemas/config/secret.ts'
import { overrides } from './environment.ts'
import { formatPath } from './path.ts'
import { valueSchema, isSecretSchema, propertySchemas } from '../validation/schema-parts.ts'

interface Row {
  readonly path: string
  readonly schema: JsonObject
}

const variableTexts = overrides.map(({ variable, path }) => `\`${variable}\` (\`${formatPath(path)}\`)`)

/** Returns Markdown with one table per section of the configuration. */
export function configurationReference (): string {
  const sections = Object.entries(propertySchemas(Config) ?? {}).map(([name, schema]) =>
    section(name, schema)
  )
  return `# Configuration reference

Written from the schema by \`npm run docs\`; do not edit. \`headgate.example.yaml\` shows
every entry in place. Without a file, every entry has its default.

- \`<name>\` is a name of your choice, \`[]\` an item of a list.
- Entries in \`_ms\` are milliseconds, entries in \`_bytes\` bytes. Prices of tokens are USD per million; other prices are USD for the unit in their name.
- A *secret* is \`env:NAME\` (a variable) or \`file:PATH\`, never the value itself. White space around the value is ignored.
- Variables of the environment win over the file: ${variableTexts.join(', ')}. \`.env.example\` lists all of Headgate's variables.

${sections.join('\n')}`
}

function section (name: string, given: unknown): string {
  const schema = objectOf(given) ?? {}
  const rows = below(name, schema)
  const table = rows.length === 0
    ? ''
    : `\n| Entry | Type | Default | Description |\n| --- | --- | --- | --- |\n${rows.map(line).join('\n')}\n`
  return `## \`${name}\`\n\n${text(schema)}\n${table}`
}

/** Lists all entries below one, depth first. */
function below (path: string, schema: JsonObject): Row[] {
  const named = Object.entries(propertySchemas(schema) ?? {}).map(
    ([name, entry]) => [`${path}.${name}`, entry] as const
  )
  const entry = valueSchema(schema)
  const isEntryOfItsOwn = isObject(entry) && (propertySchemas(entry) !== undefined || isSecretSchema(entry))
  const own = isEntryOfItsOwn
    ? [[path + (schema.items === undefined ? '.<name>' : '[]'), entry] as const]
    : []
  return [...own, ...named].flatMap(([path, entry]) =>
    isObject(entry) ? [{ path, schema: entry }, ...below(path, entry)] : []
  )
}

function line ({ path, schema }: Row): string {
  const cells = [`\`${path}\``, typeText(schema), defaultText(schema), text(schema)]
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
}

function text (schema: JsonObject): string {
  return withoutNote(nonEmptyText(schema.description) ?? '')
}

function typeText (schema: JsonObject): string {
  if (isSecretSchema(schema)) return 'secret'
  if (Array.isArray(schema.enum)) return schema.enum.map(word => `\`${String(word)}\``).join(', ')
  const types = [schema.type].flat().map(type => typeName(type, schema))
  return types.join(' or ') || 'any'
}

function typeName (type: unknown, schema: JsonObject): string {
  switch (type) {
    case 'object':
      return 'map'
    case 'array':
      return isObject(schema.items) && propertySchemas(schema.items) === undefined
        ? `list of ${typeText(schema.items)}`
        : 'list'
    case 'boolean':
      return 'boolean'
    case 'integer':
      return `integer${range(schema)}`
    case 'number':
      return `number${range(schema)}`
    case undefined:
      return 'any'
    default:
      return schema.pattern === '^auto$' ? '`auto`' : 'text'
  }
}

function range ({ minimum, exclusiveMinimum, maximum }: JsonObject): string {
  const bounds = [
    ...minimum === undefined ? [] : [`at least ${JSON.stringify(minimum)}`],
    ...exclusiveMinimum === undefined ? [] : [`more than ${JSON.stringify(exclusiveMinimum)}`],
    ...maximum === undefined ? [] : [`at most ${JSON.stringify(maximum)}`]
  ]
  return bounds.length === 0 ? '' : `, ${bounds.join(', ')}`
}

function defaultText (schema: JsonObject): string {
  if (!Object.hasOwn(schema, 'default')) return '–'
  const isMapWithDefaults = isObject(schema.default) && propertySchemas(schema) !== undefined
  return isMapWithDefaults ? 'as below' : `\`${JSON.stringify(schema.default)}\``
}
