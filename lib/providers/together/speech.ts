/**
 * Speech from Together: the answer is audio, its formats differ, and WAV is the default.
 *
 * @see https://docs.together.ai/reference/audio-speech
 */

import { GatewayError } from '../../core/errors.ts'
import type { SpeechInput } from '../../audio/input.ts'
import type { SpeechEvent } from '../../core/events.ts'
import type { SpeechFormat } from '../../../schemas/speech.ts'
import type { Adapter, AdapterInput, UpstreamRequest } from '../provider.ts'

/** The fields for each format that it writes; `pcm` as callers of this API expect it. */
const formats: Readonly<Partial<Record<SpeechFormat, object>>> = {
  mp3: { response_format: 'mp3' },
  wav: { response_format: 'wav' },
  pcm: { response_format: 'raw', response_encoding: 'pcm_s16le', sample_rate: 24_000 }
}

/** @param openai reads the answers */
export function togetherSpeech (
  openai: Adapter<SpeechInput, SpeechEvent>
): Adapter<SpeechInput, SpeechEvent> {
  return { ...openai, request: speechRequest }
}

/** Fields that only tune are dropped; events would have another format, so the audio itself is requested. */
function speechRequest ({ request, route }: AdapterInput<SpeechInput>): UpstreamRequest {
  const { input, voice, response_format: format = 'mp3' } = request
  const fields = formats[format]
  if (fields === undefined) {
    throw new GatewayError('unsupported_parameter', {
      message: `\`${route.modelId}\` does not write ${format}. \`response_format\` must be \`mp3\`, \`wav\` or \`pcm\`.`,
      param: 'response_format'
    })
  }
  return {
    method: 'POST',
    path: '/audio/speech',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: route.model, input, voice: typeof voice === 'string' ? voice : voice.id, ...fields
    })
  }
}
