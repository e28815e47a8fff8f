/** Reads the parameters of a request from the OpenAPI document that the gateway serves. */

export interface ParameterSchema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly ParameterSchema[]
  readonly items?: ParameterSchema
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: unknown
  readonly description?: string
  readonly $ref?: string
}

export interface Parameter {
  readonly name: string
  readonly description: string
  readonly fallback: unknown
  /** The control that edits it. */
  readonly kind: 'number' | 'integer' | 'choice' | 'boolean' | 'texts' | 'text' | 'json'
  readonly choices: readonly string[]
  readonly minimum: number | undefined
  readonly maximum: number | undefined
}

interface OpenApi {
  readonly components: {
    readonly schemas: Readonly<
      Record<string, { readonly properties?: Readonly<Record<string, ParameterSchema>> }>
    >
  }
}

let loaded: Promise<OpenApi> | undefined

/** Returns the parameters of a request by the name of its schema, in the order of the document. */
export async function loadParameters (schema: string): Promise<readonly Parameter[]> {
  loaded ??= fetch('/openapi.json').then(async response => {
    if (!response.ok) throw new Error('The API description could not be loaded.')
    return await response.json() as OpenApi // the gateway's own document
  })
  // A failed load is tried again by the next page that asks.
  loaded.catch(() => {
    loaded = undefined
  })
  return Object.entries((await loaded).components.schemas[schema]?.properties ?? {}).map(
    ([name, property]) => parameter(name, property)
  )
}

function parameter (name: string, schema: ParameterSchema): Parameter {
  const variants = (schema.anyOf ?? [schema]).filter(({ type }) => type !== 'null')
  const only = variants.length === 1 ? variants[0] : undefined
  const inner = only?.anyOf ?? variants
  return {
    name,
    description: (schema.description ?? '').replaceAll('`', ''),
    fallback: schema.default,
    kind: kindOf(only, inner),
    choices: (only?.enum ?? []).map(String),
    minimum: only?.minimum,
    maximum: only?.maximum
  }
}

function kindOf (only: ParameterSchema | undefined, variants: readonly ParameterSchema[]): Parameter['kind'] {
  if (only?.enum !== undefined) return 'choice'
  if (only?.type === 'number' || only?.type === 'integer' || only?.type === 'boolean') return only.type
  if (variants.some(({ type, items }) => type === 'array' && items?.type === 'string')) return 'texts'
  return only?.type === 'string' ? 'text' : 'json'
}
