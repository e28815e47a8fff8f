/** Sends a message to every model of the playground, and follows their answers. */

import { signal } from '@preact/signals'
import { ApiError } from '../api/client.ts'
import { newAnswer, withChunk, type Chunk } from './answer.ts'
import type { Attachment } from './attachments.ts'
import { call } from './call.ts'
import { newId, panes, type Pane, type Turn } from './conversation.ts'
import { readEvents } from '../api/read-events.ts'
import { chatBody } from './request.ts'

let running = new AbortController()

export function send (text: string, attachments: readonly Attachment[]): void {
  running = new AbortController()
  for (const pane of panes.value) void input(pane, text, attachments, running.signal)
}

/** Stops the answers in progress; the gateway cancels its requests to the providers. */
export function stop (): void {
  running.abort()
}

async function input (
  pane: Pane,
  text: string,
  attachments: readonly Attachment[],
  abort: AbortSignal
): Promise<void> {
  const body = chatBody(pane, text, attachments)
  const turn: Turn = { id: newId(), text, attachments, answer: signal(newAnswer()) }
  const { answer } = turn
  pane.turns.value = [...pane.turns.value, turn]
  try {
    const response = await call('/v1/chat/completions', {
      body: { ...body, stream: true, stream_options: { include_usage: true, include_tool_events: true } },
      signal: abort
    })
    answer.value = { ...answer.value, ...headersOf(response) }
    for await (const chunks of readEvents<Chunk>(response)) {
      answer.value = chunks.reduce(withChunk, answer.value)
    }
    if (answer.value.state === 'running') answer.value = { ...answer.value, state: 'done' }
  } catch (error) {
    const failure = ApiError.of(error)
    answer.value = abort.aborted
      ? { ...answer.value, state: 'stopped' }
      : {
          ...answer.value,
          state: 'failed',
          error: failure.message,
          ...failure.requestId !== undefined && { requestId: failure.requestId }
        }
  } finally {
    answer.value = { ...answer.value, durationMs: performance.now() - answer.value.startedAtMs }
  }
}

function headersOf ({ headers }: Response): { readonly requestId?: string, readonly attempts?: number } {
  const [id, attempts] = [headers.get('x-request-id'), headers.get('x-headgate-attempts')]
  return { ...id !== null && { requestId: id }, ...attempts !== null && { attempts: Number(attempts) } }
}
