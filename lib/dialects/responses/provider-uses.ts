import { isObject, objectsOf, type JsonObject } from '../../json/type-guards.ts'
import { isObjectName } from '../../json/object-names.ts'
import { pathOfField, visitFields } from '../../json/visit-fields.ts'
import { isIdOnly } from './stored-input.ts'
import { toolsOfItem } from './tools.ts'
import { isUrl, routerUses } from '../../chat/provider-uses.ts'
import type { ProviderUse } from '../../core/provider-use.ts'
import type { ResponsesContext } from './input.ts'

/** The parts of the context that are needed. */
export type UsedContext = Pick<ResponsesContext, 'request' | 'stored'>

/** Fields whose content a provider never acts on. */
const descriptions: ReadonlySet<string> = new Set([
  'parameters', 'schema', 'input_schema', 'output_schema', 'arguments', 'metadata', 'client_metadata',
  'internal_chat_message_metadata_passthrough'
])

/** Fields that may have the address of a medium. */
const addressFields: ReadonlySet<string> = new Set(['image_url', 'file_url', 'file_data'])

/** Tools that cost only tokens, or run at the caller; web searches have a price. */
const pricedTools: ReadonlySet<string> = new Set([
  'function',
  'custom',
  'namespace',
  'mcp',
  'tool_search',
  'apply_patch',
  'local_shell',
  'computer',
  'computer_use_preview',
  'web_search',
  'web_search_preview'
])

/** Versioned tools end in a date: `web_search_2025_08_26`. */
const version = /_\d{4}_\d{2}_\d{2}$/

/** Tools that OpenAI runs and bills in other units. */
const unpricedTools: ReadonlySet<unknown> = new Set([
  'code_interpreter',
  'file_search',
  'image_generation',
  'shell'
])

/**
 * Lists the provider resources that a Responses request uses, anywhere in fields, items, or tools added by
 * items, each with its place. Items of stored responses were checked when they were sent, except for the
 * tools that they add: the provider may have got a translation without them then.
 */
export function responsesUses ({ request, stored }: UsedContext): readonly ProviderUse[] {
  const uses: ProviderUse[] = [...routerUses(request)]
  if (request.conversation !== undefined) uses.push({ kind: 'object', param: 'conversation' })
  if (request.prompt !== undefined) uses.push({ kind: 'object', param: 'prompt' })
  for (const [index, item] of objectsOf(request.input).entries()) {
    if (isIdOnly(item) && !stored.items.has(item.id)) {
      uses.push({ kind: 'object', param: `input[${index}].id` })
    }
  }
  // Routing already checks the request's own model.
  addUses({ ...request, model: undefined }, uses)
  const { continuation, items } = stored
  addUses({ tools: continuation?.items.flatMap(toolsOfItem) }, uses, 'previous_response_id')
  addUses({ tools: [...items.values()].flatMap(({ item }) => toolsOfItem(item)) }, uses, 'input')
  return uses
}

/** @param place of the value in the request. Default: it is the request */
function addUses (value: object, uses: ProviderUse[], place?: string): void {
  visitFields(value, descriptions, (name, field, of) => {
    const param = place ?? pathOfField(name, of)
    if (name === 'tools') {
      uses.push(...objectsOf(field).flatMap((tool, index) => toolUses(tool, place ?? `${param}[${index}]`)))
    } else if (name === 'model' && typeof field === 'string') uses.push({ kind: 'model', name: field, param })
    else if (namesObject(name, field)) uses.push({ kind: 'object', param })
    else if (addressFields.has(name) && typeof field === 'string' && isUrl(field)) {
      uses.push({ kind: 'address', url: field, param })
    }
    return false
  })
}

/** A container object holds settings for a new container; resources in it are checked separately. */
function namesObject (name: string, value: unknown): boolean {
  if (name === 'container') return typeof value === 'string'
  return isObjectName(name) && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0)
}

function toolUses (tool: JsonObject, param: string): readonly ProviderUse[] {
  const { type, model, environment } = tool
  if (typeof type !== 'string' || pricedTools.has(type.replace(version, ''))) return []
  if (!unpricedTools.has(type)) return [{ kind: 'unknown_tool', name: type, param }]
  if (
    type === 'shell' &&
    isObject(environment) &&
    environment['type'] !== 'container_auto' &&
    environment['type'] !== 'container_reference'
  ) {
    return []
  }
  const picksModel = type === 'image_generation' && typeof model !== 'string'
  return [{ kind: 'unpriced', param }, ...picksModel ? [{ kind: 'default_model', param } as const] : []]
}
