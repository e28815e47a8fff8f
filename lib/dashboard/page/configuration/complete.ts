/**
 * Completes entries of YAML by a JSON Schema: from the indentation above the cursor to the names that are
 * allowed there.
 */

export interface Schema {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
}

export interface Suggestion {
  readonly text: string
  readonly description: string
}

export interface Completion {
  /** Index of the word that a suggestion replaces. */
  readonly from: number
  readonly suggestions: readonly Suggestion[]
}

const maxSuggestions = 12

export function complete (text: string, cursor: number, root: Schema): Completion | undefined {
  const above = text.slice(0, cursor).split('\n')
  const line = above.pop() ?? ''
  const [, indent = '', key, value] = /^(\s*)(?:- )?(?:([\w./*-]+):\s+)?(\S*)$/.exec(line) ?? []
  if (value === undefined) return
  const parents = parentsOf(above, indent.length)
  const here = resolve(root, parents, root)
  const options =
    key === undefined
      ? here.flatMap(schema =>
          Object.entries(schema.properties ?? {}).map(([name, { description = '' }]) => ({
            text: `${name}:`,
            description
          }))
        )
      : here
          .flatMap(schema => step(schema, key, root))
          .flatMap(({ enum: values = [], const: only }) =>
            [...values, ...(only === undefined ? [] : [only])].map(value => ({
              text: String(value),
              description: ''
            }))
          )
  const suggestions = options
    .filter(option => option.text.startsWith(value) && option.text !== value)
    .slice(0, maxSuggestions)
  return suggestions.length === 0 ? undefined : { from: cursor - value.length, suggestions }
}

/** Returns the names of the entries that the line is inside of, from the outside in. */
function parentsOf (above: readonly string[], indent: number): readonly string[] {
  const names: string[] = []
  let limit = indent
  for (const line of above.toReversed()) {
    const [, spaces = '', name] = /^(\s*)(?:- )?([^\s#:][^:#]*):/.exec(line) ?? []
    if (name === undefined || spaces.length >= limit) continue
    names.unshift(name)
    limit = spaces.length
  }
  return names
}

function resolve (schema: Schema, path: readonly string[], root: Schema): readonly Schema[] {
  return path.reduce<readonly Schema[]>(
    (schemas, name) => schemas.flatMap(schema => step(schema, name, root)),
    variants(schema, root)
  )
}

/** Returns the schemas of an entry with this name. */
function step (schema: Schema, name: string, root: Schema): readonly Schema[] {
  const { properties = {}, additionalProperties, patternProperties = {} } = schema
  const next =
    properties[name] ??
    Object.values(patternProperties)[0] ??
    (typeof additionalProperties === 'object' ? additionalProperties : undefined)
  return next === undefined ? [] : variants(next, root)
}

function variants (schema: Schema, root: Schema): readonly Schema[] {
  const { $ref, anyOf = [], oneOf = [], allOf = [], items } = schema
  const target = $ref === undefined ? undefined : root.$defs?.[$ref.replace('#/$defs/', '')]
  return [
    schema,
    ...[
      ...(target === undefined ? [] : [target]),
      ...anyOf,
      ...oneOf,
      ...allOf,
      ...(items === undefined ? [] : [items])
    ].flatMap(other => variants(other, root))
  ]
}
