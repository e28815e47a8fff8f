/** `POST /audio/speech`: a sound file in the requested format, as long as the text would take. */

import { applyDirectives } from './apply-directives.ts'
import { dataOf, done } from './chat-stream.ts'
import { readDirectives, withoutDirectives } from './directives.ts'
import { speechModel } from './sandbox-models.ts'
import { SandboxRefusal } from './sandbox-refusal.ts'
import { soundFile, soundFormats } from './sound.ts'
import { countTokens } from './tokens.ts'
import { bufferBody } from '../wire/buffer-body.ts'
import type { SandboxOptions } from './options.ts'
import type { Script, Step } from './script.ts'
import type { SpeechRequest } from '../../schemas/speech.ts'
import type { UpstreamRequest } from '../providers/provider.ts'

const charactersPerSecond = 15
const tokensPerSecond = 20

type SpeechBody = Pick<SpeechRequest, 'input' | 'response_format' | 'speed' | 'stream_format'> & {
  readonly model: string
}

/** @throws SandboxRefusal 404 for another model, 400 for a format that needs an encoder */
export async function speak (request: UpstreamRequest, options: SandboxOptions): Promise<Script> {
  // The adapter writes this body out of a request that was validated.
  const body = JSON.parse((await bufferBody(request.body)).toString()) as SpeechBody
  const model = body.model.replace(/^sandbox\//, '')
  if (model !== speechModel) {
    throw new SandboxRefusal(404, `The model '${model}' does not exist. Available model: ${speechModel}.`, {
      code: 'model_not_found',
      param: 'model'
    })
  }
  const { input, response_format: format = 'mp3', speed = 1 } = body
  const directives = readDirectives(input, model, 1)
  const text = withoutDirectives(input)
  const seconds = Math.max(0.2, text.length / charactersPerSecond / speed)
  const words = Math.max(1, countTokens(text))
  const sound = soundFile(format, seconds)
  if (sound === undefined) {
    throw new SandboxRefusal(
      400,
      `The sandbox does not write ${format}. Send a \`response_format\` of ${soundFormats.join(', ')}.`,
      { code: 'unsupported_parameter', param: 'response_format' }
    )
  }
  const pieces = cut(sound, words)
  const pace = directives.pace ?? options.wordsPerSecond
  const streamed = body.stream_format === 'sse'
  const usage = { input_tokens: words, output_tokens: Math.ceil(seconds * tokensPerSecond) }
  const steps: Step[] = []
  for (const piece of pieces) {
    if (pace > 0) steps.push({ type: 'pause', ms: 1000 / pace })
    const bytes = streamed ? dataOf({ type: 'speech.audio.delta', audio: piece.toString('base64') }) : piece
    steps.push({ type: 'send', bytes, words: 1 })
  }
  if (streamed) {
    const total = usage.input_tokens + usage.output_tokens
    steps.push({
      type: 'send',
      bytes: dataOf({ type: 'speech.audio.done', usage: { ...usage, total_tokens: total } }) + done
    })
  }
  const type = streamed ? 'text/event-stream; charset=utf-8' : 'application/octet-stream'
  return applyDirectives(
    { before: [], status: 200, headers: { 'content-type': type }, body: steps },
    directives,
    true
  )
}

/** Returns as many pieces as there are words to say, in even numbers of bytes. */
function cut (bytes: Buffer, count: number): Buffer[] {
  const size = Math.max(2, Math.ceil(bytes.length / count / 2) * 2)
  const pieces: Buffer[] = []
  for (let from = 0; from < bytes.length; from += size) pieces.push(bytes.subarray(from, from + size))
  return pieces
}
