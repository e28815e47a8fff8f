/** Answers of OpenAI's Responses API, with a field and an event that are unknown here. */

import { eventStream, type Script, type SeenRequest } from './upstream.ts'

interface Sent {
  readonly stream?: boolean
  readonly input: unknown
  readonly previous_response_id?: string
}

/** Answers a request of this number: `Answer 0` to the first one. The answer repeats its `input`. */
export function openaiScript ({ json }: SeenRequest, number: number): Script {
  const { stream, input, previous_response_id: previous = null } = json as Sent // as sent
  const response = openaiResponse(number, { previous_response_id: previous, x_new: JSON.stringify(input) })
  return stream === true
    ? { headers: eventStream, pieces: openaiFrames(response) }
    : { pieces: [JSON.stringify(response)] }
}

export function openaiResponse (number: number, fields: object = {}) {
  const text = `Answer ${number}`
  const item = {
    id: `msg_up${number}`,
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [], logprobs: [] }]
  }
  return {
    id: `resp_up${number}`,
    object: 'response',
    created_at: 1,
    model: 'gpt-5-2025',
    status: 'completed',
    output: [item],
    store: true,
    usage: {
      input_tokens: 3,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 2,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 5
    },
    ...fields
  }
}

/** Returns the frames of a stream: the fourth has its text. */
export function openaiFrames (response: ReturnType<typeof openaiResponse>): string[] {
  const items = response.output.flatMap(item => [
    { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
    { type: 'response.of_the_future', thing: { a: 1 } },
    ...item.content.map(({ text: delta }) => ({
      type: 'response.output_text.delta',
      item_id: item.id,
      output_index: 0,
      content_index: 0,
      delta,
      logprobs: []
    })),
    { type: 'response.output_item.done', output_index: 0, item }
  ])
  const events = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
    ...items,
    { type: 'response.completed', response }
  ]
  return events.map(
    (event, at) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: at })}\n\n`
  )
}
