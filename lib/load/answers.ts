/**
 * Requests and answers of the load: request bodies of two sizes, a complete answer and a stream of 200
 * events. The model in a request names the shape of its answer, so a provider needs no other instructions:
 * `mock/eights`.
 */

/** Text events of a full stream, in addition to the role, the finish, the usage and `[DONE]`. */
export const eventCount = 200

/** Frames of a stream with a given number of texts. */
export const frameCount = (texts: number): number => texts + 4

/** Tokens like those of models: short, some escaped in JSON, some of several bytes. */
export const texts: readonly string[] = Array.from({ length: eventCount }, (_, index) => {
  if (index % 24 === 23) return '.\n\n'
  if (index % 40 === 39) return ' “naïve”'
  return [' the', ' gateway', ' reads', ' a', ' batch', ' of', ' events', ','][index % 8] ?? ''
})

/** The same number of texts in letters of two to four bytes each: Chinese with emoji. */
export const letterTexts: readonly string[] = texts.map((_, index) => (
  index % 24 === 23
    ? '。\n\n'
    : ['网关', '读取', '一批', '事件', '并写出', '一段 🚀', '，', '数据'][index % 8] ?? ''
))

const head = {
  id: 'chatcmpl-9f8e7d6c5b4a39281706',
  object: 'chat.completion.chunk',
  created: 1_763_686_800,
  model: 'bench-1-2025-11-21',
  service_tier: 'default',
  system_fingerprint: 'fp_0123456789'
}

export interface AnswerUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details?: { readonly cached_tokens: number }
}

const plainUsage: AnswerUsage = {
  prompt_tokens: 220, completion_tokens: eventCount, total_tokens: 220 + eventCount
}

/** Returns one frame with a text of choice 0. */
export function textFrame (content: string): string {
  return frame({ content }, null)
}

export const roleFrame = frame({ role: 'assistant', content: '' }, null)

/** The frames after the last text, with `plainUsage`. */
export const lastFrames = lastFramesWith(plainUsage)

/** Returns the frames after the last text: finish, usage, end. */
export function lastFramesWith (usage: AnswerUsage): string {
  return `${frame({}, 'stop')}data: ${JSON.stringify({ ...head, choices: [], usage })}\n\ndata: [DONE]\n\n`
}

export function frame (delta: unknown, finish: string | null): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }]
  return `data: ${JSON.stringify({ ...head, choices, usage: null })}\n\n`
}

/** Returns all frames of a stream as written: the role is in the frame of the first text. */
export function streamPieces (
  perPiece: number, all: readonly string[] = texts, usage: AnswerUsage = plainUsage
): string[] {
  const pieces: string[] = []
  for (let at = 0; at < all.length; at += perPiece) {
    pieces.push(all.slice(at, at + perPiece).map(textFrame).join(''))
  }
  pieces[0] = roleFrame + (pieces[0] ?? '')
  pieces.push((pieces.pop() ?? '') + lastFramesWith(usage))
  return pieces
}

/** The text of the complete answer: its JSON is about 1 KB. */
export const completeText = 'The gateway reads a batch of events and writes one piece. '.repeat(12)

export const completeAnswer = completeAnswerWith(plainUsage)

/** Returns a complete answer with `completeText`. */
export function completeAnswerWith (usage: AnswerUsage): string {
  return JSON.stringify({
    ...head,
    object: 'chat.completion',
    choices: [{
      index: 0,
      message: { role: 'assistant', content: completeText, refusal: null, annotations: [] },
      logprobs: null,
      finish_reason: 'stop'
    }],
    usage
  })
}

export type BodySize = '1 KB' | '33 KB'

/**
 * Returns a chat request whose answer has the given shape.
 *
 * @param provider of the model: `mock` speaks the caller's dialect
 */
export function requestBody (shape: string, size: BodySize, streamed: boolean, provider = 'mock'): string {
  const turns = size === '1 KB' ? 1 : 20
  const messages: unknown[] = [{ role: 'system', content: 'Answer in one paragraph and name your sources.' }]
  for (let turn = 0; turn < turns; turn++) {
    const question = `Turn ${turn}: what does a gateway do with "quoted" text? `.repeat(15)
    messages.push({ role: 'user', content: question })
    if (turn === turns - 1) continue
    messages.push({ role: 'assistant', content: completeText + completeText.slice(0, 180) })
  }
  return JSON.stringify({
    model: `${provider}/${shape}`,
    messages,
    temperature: 0.7,
    max_tokens: 1024,
    ...streamed && { stream: true, stream_options: { include_usage: true } }
  })
}

/** Returns a text with the time at which it is written: microseconds of the machine's monotonic clock. */
export function stamp (): string {
  return `t=${nowUs().toString().padStart(15, '0')};`
}

export const stampPattern = 't='
export const stampDigits = 15

/** Reads a clock that all processes of a machine share. */
export function nowUs (): number {
  return Number(process.hrtime.bigint() / 1000n)
}
