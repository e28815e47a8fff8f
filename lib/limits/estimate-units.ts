/** Estimates what calls use that are billed by units other than the tokens of a text. */

import { textTokens } from './prompt-tokens.ts'
import type { Estimate } from './estimate.ts'
import type { RecordingInput, SpeechInput } from '../audio/input.ts'
import type { ImageParameters } from '../images/rules.ts'
import type { OcrInput } from '../ocr/input.ts'

/** Tokens of an image to be edited; the second is the most seen with high fidelity. */
const imageTokens = 1000
const highFidelityTokens = 6500
/** Tokens of a generated image: a usual one, and the largest. */
const newImageTokens = 1300
const maxNewImageTokens = 6500

/** Images: their number, size and quality; their tokens, for models that are paid by these. */
export function estimateImages ({
  prompt = '',
  image = [],
  n = 1,
  size,
  quality,
  input_fidelity: fidelity
}: ImageParameters): Estimate {
  const files = Array.isArray(image) ? image.length : 1
  const tokens = textTokens(prompt)
  const each = fidelity === 'high' ? highFidelityTokens : imageTokens
  return {
    prompt: Math.ceil(tokens + files * each),
    maxPrompt: Math.ceil(2 * tokens + files * highFidelityTokens),
    completion: n * newImageTokens,
    maxCompletion: n * maxNewImageTokens,
    units: { images: { count: n, size, quality } }
  }
}

/** OpenAI's models that are paid by tokens give about six for each of the text. */
const soundTokensPerToken = 6

/**
 * Estimates speech: the characters of the text, and for models that are paid by tokens those of text and
 * sound.
 */
export function estimateSpeech ({ input, instructions = '' }: SpeechInput): Estimate {
  const spoken = Math.ceil(textTokens(input))
  const prompt = spoken + Math.ceil(textTokens(instructions))
  return {
    prompt,
    maxPrompt: 2 * prompt,
    completion: soundTokensPerToken * spoken,
    maxCompletion: 2 * soundTokensPerToken * spoken,
    units: { characters: Array.from(input).length }
  }
}

/** Bytes of a second: typical, and minimum: of CDs and telephones, of music and of compressed speech. */
const bytesPerSecond: Readonly<Record<string, { readonly usual: number, readonly min: number }>> = {
  wav: { usual: 176_400, min: 16_000 },
  flac: { usual: 88_200, min: 8_000 }
}
const compressed = { usual: 16_000, min: 2_000 }
/** OpenAI counts ten tokens a second of sound; fast speech has about five of text. */
const soundTokensPerSecond = 10
const maxSoundTokensPerSecond = 20
const wordTokensPerSecond = 5

/** Estimates a recording: its seconds, by the size and the format of the file. */
export function estimateRecording ({ file, prompt = '' }: RecordingInput): Estimate {
  const { usual, min } = bytesPerSecond[/\.(\w+)$/.exec(file.name)?.[1]?.toLowerCase() ?? ''] ?? compressed
  const seconds = Math.ceil(file.sizeBytes / usual)
  const maxSeconds = Math.ceil(file.sizeBytes / min)
  const words = Math.ceil(textTokens(prompt))
  return {
    prompt: words + soundTokensPerSecond * seconds,
    maxPrompt: 2 * words + maxSoundTokensPerSecond * maxSeconds,
    completion: wordTokensPerSecond * seconds,
    maxCompletion: wordTokensPerSecond * maxSeconds,
    units: { audioSeconds: seconds },
    maxUnits: { audioSeconds: maxSeconds },
    minUnits: { audioSeconds: seconds }
  }
}

/** The most pages that are read (`pipelines/ocr`). */
export const maxPages = 1000

/** Estimates a document: its pages, or any number where only its provider can count them. */
export function estimateDocument ({ document, pages }: OcrInput): Estimate {
  const isImage = document.kind === 'address' ? document.isImage : document.mediaType !== 'application/pdf'
  const pageCount = pages ?? (isImage ? 1 : undefined)
  return {
    prompt: 0,
    completion: 0,
    maxCompletion: 0,
    units: { pages: pageCount ?? 1 },
    maxUnits: { pages: pageCount ?? maxPages },
    minUnits: { pages: pageCount ?? 1 }
  }
}
