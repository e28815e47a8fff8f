import { isObject, objectsOf, type JsonObject } from '../../json/type-guards.ts'
import { isObjectName } from '../../json/object-names.ts'
import { pathOfField, visitFields } from '../../json/visit-fields.ts'
import { routerUses } from '../../chat/provider-uses.ts'
import type { ProviderUse } from '../../core/provider-use.ts'
import type { MessagesContext } from './input.ts'

/** Fields whose content a provider never acts on. */
const descriptions: ReadonlySet<string> = new Set([
  'input',
  'input_schema',
  'input_examples',
  'schema',
  'configs',
  'metadata'
])

/**
 * Fields that change the price of all tokens, with their price-neutral values.
 *
 * @see https://platform.claude.com/docs/en/about-claude/pricing
 */
const priceFields = [['speed', 'standard'], ['inference_geo', 'global']] as const

/** Tools that cost only tokens and searches, or run at the caller. Their names end in a date. */
const pricedTool =
  /^(?:custom|tool_search_tool_(?:bm25|regex)|(?:bash|text_editor|memory|(?:computer|browser)(?:_toolset)?|tool_search_tool_(?:bm25|regex)|web_search|web_fetch|advisor)_\d{8})$/

/** Lists the provider resources that a Messages request uses, anywhere in it. */
export function messagesUses ({ request }: Pick<MessagesContext, 'request'>): readonly ProviderUse[] {
  const uses: ProviderUse[] = [...routerUses(withoutNamed(request))]
  for (const name of ['container', 'thread'] as const) {
    // missing from the token-count schema
    if ((Reflect.get(request, name) ?? undefined) !== undefined) uses.push({ kind: 'object', param: name })
  }
  if ((request.mcp_servers?.length ?? 0) > 0) uses.push({ kind: 'tool_server', param: 'mcp_servers' })
  for (const [name, usual] of priceFields) {
    if (![undefined, null, usual].includes(Reflect.get(request, name))) {
      uses.push({ kind: 'unpriced', param: name })
    }
  }
  for (const [index, tool] of objectsOf(request.tools as unknown).entries()) {
    uses.push(...toolUses(tool, `tools[${index}]`))
  }
  // Routing already checks the request's own model.
  visitFields({ ...request, model: undefined }, descriptions, (name, value, of) => {
    // A tool added by a message is the same object as an entry of `tools`.
    if (name === 'definition' && isObject(value)) uses.push(...toolUses(value, pathOfField(name, of)))
    else if (name === 'model' && typeof value === 'string')
      uses.push({ kind: 'model', name: value, param: pathOfField(name, of) })
    else if (isObjectName(name) && value !== null && value !== '') {
      uses.push({ kind: 'object', param: pathOfField(name, of) })
    }
    return false
  })
  return uses
}

/** Skips Anthropic's form of `fallbacks`, which names one model each: those models are checked by name. */
function withoutNamed (request: object): object {
  const fallbacks: unknown = Reflect.get(request, 'fallbacks')
  const isNamed =
    Array.isArray(fallbacks) &&
    fallbacks.every(entry => isObject(entry) && typeof entry['model'] === 'string')
  return isNamed ? { ...request, fallbacks: undefined } : request
}

function toolUses ({ type }: JsonObject, param: string): readonly ProviderUse[] {
  if (typeof type !== 'string' || pricedTool.test(type)) return []
  if (/^code_execution_\d{8}$/.test(type)) return [{ kind: 'unpriced', param }]
  return [
    type === 'mcp_toolset' ? { kind: 'tool_server', param } : { kind: 'unknown_tool', name: type, param }
  ]
}
