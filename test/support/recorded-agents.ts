/**
 * Sessions of coding agents, grown from their recorded requests (`test/fixtures/agents`). Headers, fields,
 * ids and text sizes are those of the recording; the texts are generated here.
 */

import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject, objectsOf, type JsonObject } from '../../lib/json/type-guards.ts'

const folder = join(import.meta.dirname, '../../../test/fixtures/agents')

interface Recording {
  readonly headers: Readonly<Record<string, string>>
  /** The first request of a session. */
  readonly body: JsonObject
  /** The additions of a further request: the previous answer, and what its tool or user said. */
  readonly turns: Readonly<Record<string, readonly JsonObject[]>>
}

export interface RecordedRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonObject
}

export interface RecordedAgent {
  readonly path: string
  /** Returns the requests of one session, each with everything before it. */
  readonly requests: (session: string, count: number) => RecordedRequest[]
  /** Returns the parts read by a provider of the dialect, in the order of its cache. */
  readonly prompt: (body: JsonObject) => unknown[]
  /** Returns the answer of a provider whose cache had `cached` of `input` tokens. */
  readonly answer: (input: number, cached: number) => string[]
}

function readRecording (name: string): Recording {
  return JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Recording // a file of ours
}

/** Returns the same value with texts in place of placeholders. */
function fill<T> (value: T, session: string, turn: number): T {
  const text = JSON.stringify(value)
    .replaceAll('<session>', session)
    .replaceAll('<turn>', `${turn}`)
    .replaceAll('<prompt>', `Prompt ${turn} of ${session}`)
    .replace(/<(\d+) characters>/g, (_, length) => 'lorem ipsum '.repeat(2000).slice(0, Number(length)))
  return JSON.parse(text) as T
}

/** @param list the member that grows */
function grow (
  { headers, body, turns }: Recording,
  list: 'input' | 'messages',
  session: string,
  count: number
): RecordedRequest[] {
  const first = fill(body, session, 0)
  const kinds = Object.values(turns)
  const grown = [...objectsOf(first[list])]
  return Array.from({ length: count }, (_, turn) => {
    if (turn > 0) grown.push(...fill(kinds[turn % kinds.length] ?? [], session, turn))
    return { headers: fill(headers, session, turn), body: { ...first, [list]: [...grown] } }
  })
}

function event (value: JsonObject): string {
  return `event: ${String(value['type'])}\ndata: ${JSON.stringify(value)}\n\n`
}

const codexRecording = readRecording('codex')

const codex: RecordedAgent = {
  path: '/v1/responses',
  requests: (session, count) => grow(codexRecording, 'input', session, count),
  prompt: ({ tools, input }) => [tools, ...objectsOf(input)],
  answer: (input, cached) => {
    const content = [{ type: 'output_text', text: 'ok', annotations: [] }]
    const message = { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content }
    const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', store: false }
    const usage = {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input + 1
    }
    return [
      event({ type: 'response.created', response: { ...response, status: 'in_progress', output: [] } }),
      event({ type: 'response.output_item.added', output_index: 0, item: { ...message, content: [] } }),
      event({ type: 'response.output_item.done', output_index: 0, item: message }),
      event({
        type: 'response.completed',
        response: { ...response, status: 'completed', output: [message], usage }
      })
    ]
  }
}

const claudeRecording = readRecording('claude-code')

/** Marks the last block, as Claude Code does: everything up to it is to be cached. */
function marked (messages: readonly JsonObject[]): JsonObject[] {
  const last = messages.at(-1) ?? {}
  const blocks =
    typeof last['content'] === 'string'
      ? [{ type: 'text', text: last['content'] }]
      : objectsOf(last['content'])
  const content = [...blocks.slice(0, -1), { ...blocks.at(-1), cache_control: { type: 'ephemeral' } }]
  return [...messages.slice(0, -1), { ...last, content }]
}

/** Marks are not part of the cached prompt, and a text is one block. */
function withoutMarks ({ cache_control: _, content, ...message }: JsonObject): JsonObject {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return Array.isArray(blocks)
    ? { ...message, content: blocks.map(block => isObject(block) ? withoutMarks(block) : block) }
    : message
}

const claudeCode: RecordedAgent = {
  path: '/v1/messages?beta=true',
  requests: (session, count) =>
    grow(claudeRecording, 'messages', session, count).map(({ headers, body }) => ({
      headers,
      body: { ...body, messages: marked(objectsOf(body['messages'])) }
    })),
  prompt: ({ tools, system, messages }) => [
    tools,
    ...objectsOf(system).map(withoutMarks),
    ...objectsOf(messages).map(withoutMarks)
  ],
  answer: (input, cached) => {
    const usage = {
      input_tokens: 0,
      cache_read_input_tokens: cached,
      cache_creation_input_tokens: input - cached,
      output_tokens: 1
    }
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] }
    return [
      event({ type: 'message_start', message: { ...message, stop_reason: null, usage } }),
      event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } }),
      event({ type: 'content_block_stop', index: 0 }),
      event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }),
      event({ type: 'message_stop' })
    ]
  }
}

export const recordedAgents = { 'Codex': codex, 'Claude Code': claudeCode }

/** The cache of an account: it knows the beginnings of the prompts sent to it. */
export class PrefixCache {
  readonly #known = new Set<string>()
  inputCharacters = 0
  cachedCharacters = 0

  /** Returns the number of characters of a prompt, and how many were cached; all are cached afterwards. */
  read (prompt: readonly unknown[]): { readonly input: number, readonly cached: number } {
    let [input, cached, beginning] = [0, 0, '']
    for (const part of prompt) {
      const text = JSON.stringify(part)
      input += text.length
      beginning = hash('sha256', beginning + text)
      if (this.#known.has(beginning)) cached = input
      this.#known.add(beginning)
    }
    this.inputCharacters += input
    this.cachedCharacters += cached
    return { input, cached }
  }
}
