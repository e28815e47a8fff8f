/** Sends requests to the sandbox, for tests of its parts. */

import { sandboxTransport } from '../../lib/sandbox/transport.ts'
import type { SendOptions, UpstreamResponse } from '../../lib/providers/provider.ts'

// The parts of an answer that tests read. A stream is folded into the same shape.
export interface Logprob {
  token: string
  logprob: number
  bytes: number[]
  top_logprobs: Logprob[]
}
export interface Logprobs {
  content: Logprob[] | null
  refusal: Logprob[] | null
}
export interface ToolCall {
  id: string
  type: string
  function?: { name: string, arguments: string }
  custom?: { name: string, input: string }
}
export interface Message {
  role: string
  content: string | null
  refusal: string | null
  reasoning_content?: string
  tool_calls?: ToolCall[]
  function_call?: { name: string, arguments: string }
}
export interface Choice {
  index: number
  message: Message
  logprobs: Logprobs | null
  finish_reason: string | null
}
export interface Usage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  completion_tokens_details: { reasoning_tokens: number }
}
export interface Completion {
  id: string
  model: string
  choices: Choice[]
  usage?: Usage | null
  system_fingerprint: string
  error?: { message: string, type: string, code: string | null, param: string | null }
}
export interface Delta extends Omit<Partial<Message>, 'tool_calls'> {
  tool_calls?: Array<Partial<ToolCall> & { index: number }>
}
export interface Chunk extends Omit<Completion, 'choices'> {
  choices: Array<{ index: number, delta: Delta, logprobs: Logprobs | null, finish_reason: string | null }>
}

export const timeouts = {
  connectMs: 1000,
  firstByteMs: 60_000,
  responseMs: 60_000,
  idleBytesMs: 60_000,
  idleEventsMs: 60_000
}
export const transport = sandboxTransport({ words_per_second: 0 })
export const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string' },
        unit: { enum: ['celsius', 'fahrenheit'] },
        days: { type: 'integer', minimum: 1 }
      },
      required: ['city', 'unit', 'days']
    }
  }
}
export const time = {
  type: 'function',
  function: { name: 'get_time', parameters: { type: 'object', properties: {} } }
}
export const query = { type: 'custom', custom: { name: 'run_sql' } }

export function user (content: unknown): object[] {
  return [{ role: 'user', content }]
}

export function send (
  body: object,
  options: Partial<SendOptions> = {},
  via = transport
): Promise<UpstreamResponse> {
  const { signal } = new AbortController()
  const streamed = Reflect.get(body, 'stream') === true
  return via.send(
    {
      method: 'POST',
      path: '/chat/completions',
      headers: {},
      body: JSON.stringify({ model: 'echo', ...body })
    },
    { signal, credential: {}, timeouts, streamed, ...options }
  )
}

export async function textOf ({ body }: UpstreamResponse): Promise<string> {
  return (await body.buffer(1e8)).toString()
}

export async function complete (body: object): Promise<Completion> {
  return JSON.parse(await textOf(await send(body)))
}

/** Returns the only message of a complete answer. */
export async function message (body: object): Promise<Message> {
  const {
    choices: [choice]
  } = await complete(body)
  if (choice === undefined) throw new Error('The answer has no choice.')
  return choice.message
}

export function framesIn (text: string): string[] {
  return text
    .split('\n\n')
    .filter(frame => frame !== '')
    .map(frame => frame.replace(/^data: /, ''))
}

/** Folds chunks by the rules of the dialect, independently of the gateway's code. */
export function folded (list: Chunk[]): Completion {
  const choices: Choice[] = []
  let usage: Usage | null = null
  for (const chunk of list) {
    usage = chunk.usage ?? usage
    for (const { index, delta, logprobs, finish_reason } of chunk.choices) {
      const choice = (choices[index] ??= {
        index,
        message: { role: '', content: null, refusal: null },
        logprobs: null,
        finish_reason: null
      })
      const { message } = choice
      choice.finish_reason = finish_reason ?? choice.finish_reason
      if (logprobs !== null) choice.logprobs = joined(choice.logprobs, logprobs)
      if (delta.role !== undefined) message.role = delta.role
      if (typeof delta.content === 'string') message.content = (message.content ?? '') + delta.content
      if (typeof delta.refusal === 'string') message.refusal = (message.refusal ?? '') + delta.refusal
      if (delta.reasoning_content !== undefined) {
        message.reasoning_content = (message.reasoning_content ?? '') + delta.reasoning_content
      }
      if (delta.function_call !== undefined) {
        message.function_call ??= { name: delta.function_call.name, arguments: '' }
        message.function_call.arguments += delta.function_call.arguments
      }
      for (const { index, ...part } of delta.tool_calls ?? []) {
        message.tool_calls ??= []
        const call = message.tool_calls[index]
        if (call === undefined) message.tool_calls[index] = { id: '', type: '', ...part }
        else if (call.function !== undefined) call.function.arguments += part.function?.arguments ?? ''
        else if (call.custom !== undefined) call.custom.input += part.custom?.input ?? ''
      }
    }
  }
  const [first] = list
  return {
    id: first?.id ?? '',
    model: first?.model ?? '',
    choices,
    usage,
    system_fingerprint: first?.system_fingerprint ?? ''
  }
}

export function joined (a: Logprobs | null, b: Logprobs): Logprobs {
  const list = (key: keyof Logprobs): Logprob[] | null =>
    b[key] === null ? (a?.[key] ?? null) : [...(a?.[key] ?? []), ...b[key]]
  return { content: list('content'), refusal: list('refusal') }
}

/** Returns the part of a body read before its failure, and the failure. */
export async function readAll ({ body }: UpstreamResponse): Promise<{ text: string, error: unknown }> {
  let text = ''
  try {
    for await (const bytes of body) text += Buffer.from(bytes).toString()
  } catch (error) {
    return { text, error }
  }
  return { text, error: undefined }
}

export function timers (): number {
  return process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
}
