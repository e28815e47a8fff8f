/** The answers of a provider with the Responses API: complete, and as a stream of 200 text events. */

import { completeText, texts } from '../../lib/load/answers.ts'

type Fields = Readonly<Record<string, unknown>>

export const completeResponse = JSON.stringify(responseOf(completeText))

/** Returns all frames of a stream, with so many text events per piece. */
export function responsePieces (perPiece: number): string[] {
  const text = texts.join('')
  const [part] = messageOf('').content
  const head = [
    { type: 'response.created', response: responseOf() },
    { type: 'response.in_progress', response: responseOf() },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...messageOf(''), status: 'in_progress', content: [] }
    },
    { type: 'response.content_part.added', ...place, part }
  ]
  const deltas = texts.map(delta => ({ type: 'response.output_text.delta', ...place, delta, logprobs: [] }))
  const end = [
    { type: 'response.output_text.done', ...place, text, logprobs: [] },
    { type: 'response.content_part.done', ...place, part: { ...part, text } },
    { type: 'response.output_item.done', output_index: 0, item: messageOf(text) },
    { type: 'response.completed', response: responseOf(text) }
  ]
  const frames = [...head, ...deltas, ...end].map(
    (event, number) =>
      `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: number })}\n\n`
  )
  const starts = deltas.flatMap((_, index) => (index % perPiece === 0 ? [head.length + index] : []))
  return starts.map((start, index) =>
    frames.slice(index === 0 ? 0 : start, starts[index + 1] ?? frames.length).join('')
  )
}

const place = { item_id: 'msg_01', output_index: 0, content_index: 0 }

function messageOf (text: string) {
  return {
    id: 'msg_01',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [], logprobs: [] }] as const
  }
}

/** @param text of the answer; without it the response has just begun */
function responseOf (text?: string): Fields {
  return {
    id: 'resp_01',
    object: 'response',
    created_at: 1_763_686_800,
    status: text === undefined ? 'in_progress' : 'completed',
    completed_at: text === undefined ? null : 1_763_686_801,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: 'gpt',
    output: text === undefined ? [] : [messageOf(text)],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    background: false,
    service_tier: 'default',
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    usage:
      text === undefined
        ? null
        : {
            input_tokens: 220,
            input_tokens_details: { cached_tokens: 0 },
            output_tokens: 200,
            output_tokens_details: { reasoning_tokens: 0 },
            total_tokens: 420
          },
    metadata: {},
    safety_identifier: null,
    prompt_cache_key: null,
    presence_penalty: 0,
    frequency_penalty: 0
  }
}
