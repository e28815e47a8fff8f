/**
 * Answers the transcription and translation paths with an invented transcript that describes the upload:
 * always the same for a file.
 */

import { srt, vtt } from '../audio/subtitles.ts'
import { applyDirectives } from './apply-directives.ts'
import { dataOf, done } from './chat-stream.ts'
import { readDirectives } from './directives.ts'
import { transcriptionModel } from './sandbox-models.ts'
import { hash } from './random.ts'
import { readFormBody, type SandboxFormPart } from './read-form-body.ts'
import { SandboxRefusal } from './sandbox-refusal.ts'
import { jsonScript, type Script, type Step } from './script.ts'
import { tokenLogprobs, tokensOf } from './tokens.ts'
import type { SandboxOptions } from './options.ts'
import type { UpstreamRequest } from '../providers/provider.ts'

/** Assumed for files without a length in their header: 128 kbit/s. */
const bytesPerSecond = 16_000

interface Heard {
  readonly language: string
  readonly seconds: number
  readonly sentences: readonly string[]
  readonly text: string
}

/** Answers `POST /audio/transcriptions` */
export async function transcribe (request: UpstreamRequest, options: SandboxOptions): Promise<Script> {
  return await listen(request, options, false)
}

/** Answers `POST /audio/translations` */
export async function translate (request: UpstreamRequest, options: SandboxOptions): Promise<Script> {
  return await listen(request, options, true)
}

async function listen (
  request: UpstreamRequest,
  options: SandboxOptions,
  toEnglish: boolean
): Promise<Script> {
  const parts = await partsOf(request)
  const all = (name: string): string[] =>
    parts
      .filter(part => part.name === name && part.fileName === undefined)
      .map(({ bytes }) => bytes.toString())
  const text = (name: string): string => all(name)[0] ?? ''
  const model = text('model').replace(/^sandbox\//, '')
  if (model !== transcriptionModel) {
    throw new SandboxRefusal(404, `The model '${model}' does not exist. Available model: ${transcriptionModel}.`, {
      code: 'model_not_found',
      param: 'model'
    })
  }
  const file = parts.find(part => part.name === 'file')
  if (file?.fileName === undefined) throw new SandboxRefusal(400, 'The form has no file.', { param: 'file' })
  const directives = readDirectives(text('prompt'), model, 1)
  const heard = hear(file.fileName, file.bytes, toEnglish ? 'english' : text('language'))
  const withLogprobs = all('include[]').includes('logprobs')
  const streamed = text('stream') === 'true'
  const script = streamed
    ? streamOf(heard, withLogprobs, directives.pace ?? options.wordsPerSecond)
    : completeOf(
        heard,
        text('response_format'),
        all('timestamp_granularities[]').includes('word'),
        withLogprobs
      )
  return applyDirectives(script, directives, streamed)
}

async function partsOf (request: UpstreamRequest): Promise<SandboxFormPart[]> {
  try {
    return await readFormBody(request)
  } catch {
    throw new SandboxRefusal(400, 'The body is not a form.', { code: 'invalid_form' })
  }
}

function hear (name: string, bytes: Buffer, language: string): Heard {
  const isWav = bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.length >= 44
  const seconds = isWav
    ? (bytes.length - 44) / Math.max(1, bytes.readUInt32LE(28))
    : bytes.length / bytesPerSecond
  const sentences = [
    'This is the sandbox, which hears nothing.',
    `It was given ${name}, which has ${bytes.length} bytes.`,
    `That is ${seconds.toFixed(2)} seconds of sound.`
  ]
  return { language: language === '' ? 'english' : language, seconds, sentences, text: sentences.join(' ') }
}

function completeOf (heard: Heard, format: string, withWords: boolean, withLogprobs: boolean): Script {
  const { text, seconds, language } = heard
  switch (format) {
    case 'text':
      return textScript(`${text}\n`)
    case 'srt':
      return textScript(srt(segmentsOf(heard)))
    case 'vtt':
      return textScript(vtt(segmentsOf(heard)))
    case 'verbose_json':
      return jsonScript(200, {
        task: 'transcribe',
        language,
        duration: seconds,
        text,
        segments: segmentsOf(heard),
        ...withWords && {
          words: timed(text.split(' '), seconds).map(({ text: word, start, end }) => ({ word, start, end }))
        },
        usage: { type: 'duration', seconds: Math.ceil(seconds) }
      })
    default:
      return jsonScript(200, {
        text,
        ...withLogprobs && { logprobs: logprobsOf(text) },
        usage: transcriptionUsage(heard)
      })
  }
}

function streamOf (heard: Heard, withLogprobs: boolean, wordsPerSecond: number): Script {
  const { text } = heard
  const steps: Step[] = []
  for (const [position, delta] of tokensOf(text).entries()) {
    if (wordsPerSecond > 0) steps.push({ type: 'pause', ms: 1000 / wordsPerSecond })
    const logprobs = withLogprobs ? { logprobs: [logprobOf(delta, position)] } : {}
    steps.push({
      type: 'send',
      bytes: dataOf({ type: 'transcript.text.delta', delta, ...logprobs }),
      words: 1
    })
  }
  const all = withLogprobs ? { logprobs: logprobsOf(text) } : {}
  steps.push({
    type: 'send',
    bytes: dataOf({ type: 'transcript.text.done', text, ...all, usage: transcriptionUsage(heard) }) + done
  })
  return {
    before: [],
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    body: steps
  }
}

function textScript (text: string): Script {
  return {
    before: [],
    status: 200,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: [{ type: 'send', bytes: text }]
  }
}

function segmentsOf ({ sentences, seconds }: Heard) {
  return timed(sentences, seconds).map(({ text, start, end }, id) => ({
    id,
    seek: 0,
    start,
    end,
    text: ` ${text}`,
    tokens: tokensOf(text).map(token => hash(token) % 50_000),
    temperature: 0,
    avg_logprob: -0.25,
    compression_ratio: 1.2,
    no_speech_prob: 0.01
  }))
}

/** Consecutive texts, each as long as its share of the characters. */
function timed (
  texts: readonly string[],
  seconds: number
): Array<{ text: string, start: number, end: number }> {
  const characters = texts.reduce((sum, text) => sum + text.length, 0)
  let start = 0
  return texts.map(text => {
    const span = { text, start, end: start + seconds * text.length / characters }
    start = span.end
    return span
  })
}

function logprobsOf (text: string) {
  return tokensOf(text).map(logprobOf)
}

function logprobOf (token: string, position: number) {
  const { logprob, bytes } = tokenLogprobs(token, position, 0)
  return { token, logprob, bytes }
}

function transcriptionUsage ({ seconds, text }: Heard): object {
  const input = Math.ceil(seconds * 10)
  const output = tokensOf(text).length
  return {
    type: 'tokens',
    input_tokens: input,
    input_token_details: { text_tokens: 0, audio_tokens: input },
    output_tokens: output,
    total_tokens: input + output
  }
}
