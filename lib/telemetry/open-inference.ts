/**
 * Attributes of OpenInference, as read by Phoenix, Arize and others, derived from OpenTelemetry attributes.
 *
 * @see https://arize-ai.github.io/openinference/spec/semantic_conventions.html
 */

import { stringOrJson } from '../json/type-guards.ts'
import type { Attributes, CallSpan } from './call-spans.ts'
import type { Content } from './span-content.ts'
import type { Message, Part } from './span-messages.ts'

type SpanFacts = Pick<CallSpan, 'kind' | 'attributes'>

/** OpenInference names by OpenTelemetry name, with the same values. */
const renamed: ReadonlyArray<readonly [from: string, to: string]> = [
  ['gen_ai.provider.name', 'llm.system'],
  ['gen_ai.provider.name', 'llm.provider'],
  ['gen_ai.usage.input_tokens', 'llm.token_count.prompt'],
  ['gen_ai.usage.output_tokens', 'llm.token_count.completion'],
  ['gen_ai.usage.cache_read.input_tokens', 'llm.token_count.prompt_details.cache_read'],
  ['gen_ai.usage.cache_write.input_tokens', 'llm.token_count.prompt_details.cache_write'],
  ['gen_ai.usage.reasoning.output_tokens', 'llm.token_count.completion_details.reasoning'],
  ['gen_ai.usage.cost', 'llm.cost.total'],
  ['gen_ai.tool.name', 'tool.name'],
  ['headgate.tags', 'tag.tags'],
  ['headgate.metadata', 'metadata']
]

/** Values of `openinference.span.kind` by `gen_ai.operation.name`. */
const kinds: Readonly<Record<string, string>> = {
  chat: 'LLM',
  text_completion: 'LLM',
  embeddings: 'EMBEDDING',
  execute_tool: 'TOOL'
}

/** Maximum attributes per span for messages, which are flattened. */
const maxMessageAttributes = 500

/**
 * Returns the OpenInference attributes of a span. @param content the texts of the call, on one of its spans
 */
export function openInference ({ kind, attributes }: SpanFacts, content?: Content): Attributes {
  const spanKind = kind === 'internal'
    ? 'GUARDRAIL'
    : kinds[String(attributes['gen_ai.operation.name'])] ?? 'CHAIN'
  const { 'gen_ai.request.model': model, 'gen_ai.conversation.id': session } = attributes
  const result: Attributes = { 'openinference.span.kind': spanKind }
  if (session !== undefined) result['session.id'] = session
  if (model !== undefined) {
    result[spanKind === 'EMBEDDING' ? 'embedding.model_name' : 'llm.model_name'] = model
  }
  for (const [from, to] of renamed) {
    const value = attributes[from]
    if (value !== undefined) result[to] = value
  }
  return content === undefined ? result : Object.assign(result, contentAttributes(content))
}

function contentAttributes ({ system, input, output }: Content): Attributes {
  const asked = system.length === 0 ? input : [{ role: 'system', parts: system }, ...input]
  const flat = [...flattened('llm.input_messages', asked), ...flattened('llm.output_messages', output)]
  return {
    ...asked.length > 0 && { 'input.value': JSON.stringify(asked), 'input.mime_type': 'application/json' },
    ...output.length > 0 && {
      'output.value': JSON.stringify(output),
      'output.mime_type': 'application/json'
    },
    ...Object.fromEntries(flat.slice(0, maxMessageAttributes))
  }
}

function flattened (name: string, messages: readonly Message[]): Array<[string, string]> {
  return messages.flatMap(({ role, parts }, index) => {
    const path = `${name}.${index}.message`
    const texts = parts.flatMap(part => part.type === 'reasoning' ? [] : part.content ?? responseOf(part))
    const answered = parts.find(part => part.type === 'tool_call_response')?.id
    const calls = parts.filter(({ type }) => type === 'tool_call')
    return [
      [`${path}.role`, role],
      ...texts.length > 0 ? [[`${path}.content`, texts.join('\n')] as [string, string]] : [],
      ...answered !== undefined ? [[`${path}.tool_call_id`, answered] as [string, string]] : [],
      ...calls.flatMap((call, number) => callAttributes(`${path}.tool_calls.${number}.tool_call`, call))
    ]
  })
}

function responseOf ({ type, response }: Part): string | [] {
  return type === 'tool_call_response' ? stringOrJson(response) : []
}

function callAttributes (path: string, { id, name, arguments: given }: Part): Array<[string, string]> {
  return [
    ...id !== undefined ? [[`${path}.id`, id] as [string, string]] : [],
    ...name !== undefined ? [[`${path}.function.name`, name] as [string, string]] : [],
    [`${path}.function.arguments`, stringOrJson(given)]
  ]
}
