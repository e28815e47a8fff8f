/**
 * Estimates the usage of requests other than conversations: the tokens of embeddings, and the units by
 * which the others are billed.
 */

import { inputsOf } from '../embeddings/input.ts'
import { charactersPerToken, usageOfTokens, type Usage } from '../core/usage.ts'
import type { EmbeddingInput, EmbeddingsRequest } from '../../schemas/embeddings.ts'
import { textTokens } from './estimate-chat.ts'
import { estimateOf, type Estimate } from './estimate.ts'
import type { RecordingInput, SpeechInput } from '../audio/input.ts'
import type { ImageParameters } from '../images/rules.ts'
import type { OcrInput } from '../ocr/input.ts'

export function estimateEmbeddings ({ input }: EmbeddingsRequest): Estimate {
  return estimateOf({ prompt: { typical: embeddingTokens(input) }, answer: { typical: 0, limit: 0 } })
}

/** Estimates the usage of an answer for which the provider reports none. */
export function embeddingsUsage ({ input }: EmbeddingsRequest): Usage {
  return usageOfTokens(embeddingTokens(input), 0)
}

function embeddingTokens (input: EmbeddingInput): number {
  let tokens = 0
  for (const one of inputsOf(input)) {
    tokens += typeof one === 'string' ? Math.ceil(Buffer.byteLength(one) / charactersPerToken) : one.length
  }
  return tokens
}

/** Tokens of an image to edit: typical, and the most seen with high fidelity. */
const imageTokens = 1000
const highFidelityTokens = 6500
/** Tokens of a generated image: typical and largest. */
const newImageTokens = 1300
const maxNewImageTokens = 6500
/**
 * Tokens of a partial image of a stream.
 *
 * @see https://developers.openai.com/api/docs/guides/image-generation
 */
const partialImageTokens = 100

/** Estimates images: count, size and quality, and tokens for models billed by tokens. */
export function estimateImages ({
  prompt = '',
  image = [],
  n = 1,
  size,
  quality,
  input_fidelity: fidelity,
  stream = false,
  partial_images: partials = 0
}: ImageParameters): Estimate {
  const files = Array.isArray(image) ? image.length : 1
  const tokens = textTokens(prompt)
  const each = fidelity === 'high' ? highFidelityTokens : imageTokens
  const answerTokens = stream ? n * partials * partialImageTokens : 0
  return estimateOf({
    prompt: {
      typical: Math.ceil(tokens + files * each),
      max: Math.ceil(2 * tokens + files * highFidelityTokens)
    },
    answer: { typical: n * newImageTokens + answerTokens, limit: n * maxNewImageTokens + answerTokens },
    units: { typical: { images: { count: n, size, quality } }, answerTokens }
  })
}

/** OpenAI's speech models that bill tokens generate about six audio tokens per text token. */
const soundTokensPerToken = 6

/** Estimates speech: the characters of the text and, for models billed by tokens, text and audio tokens. */
export function estimateSpeech ({ input, instructions = '' }: SpeechInput): Estimate {
  const spoken = Math.ceil(textTokens(input))
  const prompt = spoken + Math.ceil(textTokens(instructions))
  return estimateOf({
    prompt: { typical: prompt, max: 2 * prompt },
    answer: { typical: soundTokensPerToken * spoken, limit: 2 * soundTokensPerToken * spoken },
    units: { typical: { characters: Array.from(input).length } }
  })
}

/** Typical bytes per second, by file format. */
const bytesPerSecond: Readonly<Record<string, number>> = { wav: 176_400, flac: 88_200 }
const compressed = 16_000
/** Bytes per second of the slowest encoding. */
export const minBytesPerSecond = 750
/** Bytes of a WAV file that are no sound, at least. */
const wavHeaderBytes = 44
/** Encodings of WAV with a constant number of bits per sample: integers, floats, A-law and μ-law. */
const plainEncodings: ReadonlySet<number> = new Set([1, 3, 6, 7])
/** OpenAI counts ten tokens per second of audio; fast speech has about five text tokens per second. */
const soundTokensPerSecond = 10
const maxSoundTokensPerSecond = 20
const wordTokensPerSecond = 5

/**
 * Returns the bytes per second of a WAV file without compression, by its header; `undefined` for any other.
 *
 * @see https://www.mmsp.ece.mcgill.ca/Documents/AudioFormats/WAVE/WAVE.html
 */
function wavBytesPerSecond (head: Uint8Array): number | undefined {
  const header = Buffer.from(head.buffer, head.byteOffset, head.byteLength)
  if (header.length < 46 || !/^RIFF.{4}WAVEfmt /s.test(header.toString('latin1', 0, 16))) return undefined
  const encoding = header.readUInt16LE(20)
  if (!plainEncodings.has(encoding === 0xfffe ? header.readUInt16LE(44) : encoding)) return undefined
  const bytesPerSample = Math.ceil(header.readUInt16LE(34) / 8)
  return header.readUInt16LE(22) * header.readUInt32LE(24) * bytesPerSample || undefined
}

/** Estimates the seconds of a recording from the size and format of its file. */
export function estimateRecording ({ file, prompt = '' }: RecordingInput): Estimate {
  const stated = wavBytesPerSecond(file.head)
  const typical = bytesPerSecond[/\.(\w+)$/.exec(file.name)?.[1]?.toLowerCase() ?? ''] ?? compressed
  const soundBytes = stated === undefined ? file.sizeBytes : Math.max(0, file.sizeBytes - wavHeaderBytes)
  const seconds = Math.ceil(soundBytes / (stated ?? typical))
  const maxSeconds = Math.ceil(soundBytes / (stated ?? minBytesPerSecond))
  const words = Math.ceil(textTokens(prompt))
  return estimateOf({
    prompt: {
      typical: words + soundTokensPerSecond * seconds,
      max: 2 * words + maxSoundTokensPerSecond * maxSeconds
    },
    answer: { typical: wordTokensPerSecond * seconds, limit: wordTokensPerSecond * maxSeconds },
    units: {
      typical: { audioSeconds: seconds },
      max: { audioSeconds: maxSeconds },
      min: { audioSeconds: seconds }
    }
  })
}

/** Maximum pages of a document (`pipelines/ocr`). */
export const maxPages = 1000

/** Estimates the pages of a document. If only the provider can count them, any number is possible. */
export function estimateDocument ({ document, pages, selected }: OcrInput): Estimate {
  const isImage = document.kind === 'address' ? document.isImage : document.mediaType !== 'application/pdf'
  const pageCount = pages ?? (isImage ? 1 : undefined)
  return estimateOf({
    prompt: { typical: 0 },
    answer: { typical: 0, limit: 0 },
    units: {
      typical: { pages: pageCount ?? 1 },
      max: { pages: pageCount ?? selected?.length ?? maxPages },
      min: { pages: pageCount ?? 1 }
    }
  })
}
