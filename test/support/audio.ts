/** Speech and recordings for tests of the audio endpoints. */

import { fakeUpstream, type Script, type SeenRequest } from './upstream.ts'
import { testGateway, upstreamAt, type TestGateway } from './gateway.ts'
import { wavOf } from './forms.ts'
import type { FakeUpstream } from './upstream.ts'
import type { ProviderSettings, Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

export const speech = '/v1/audio/speech'
export const transcriptions = '/v1/audio/transcriptions'
export const translations = '/v1/audio/translations'
export const said = { model: 'openai/tts-1', input: 'Hello', voice: 'alloy' }
export const sound = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
export const wav = wavOf(0.1)

export async function start (
  t: Test,
  script: Script | ((request: SeenRequest, number: number) => Script | Promise<Script>),
  provider: Partial<ProviderSettings> = {},
  parts: Partial<Settings> = {}
): Promise<{ upstream: FakeUpstream, api: TestGateway }> {
  const upstream = await fakeUpstream(script)
  const providers = [
    upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', provider),
    upstreamAt(`${upstream.url}/groq`, 'groq', 'groq', provider)
  ]
  const api = await testGateway(t, { providers, ...parts })
  t.teardown(upstream.close)
  return { upstream, api }
}

export async function json (response: Response): Promise<Record<string, unknown>> {
  return await response.json() as Record<string, unknown>
}

export const segment = {
  id: 0,
  seek: 0,
  start: 0,
  end: 1.5,
  text: ' Hello.',
  tokens: [1, 2],
  temperature: 0,
  avg_logprob: -0.2,
  compression_ratio: 0.8,
  no_speech_prob: 0.01
}
export const words = [{ word: 'Hello', start: 0, end: 1.5 }]
export const verbose = {
  task: 'transcribe',
  language: 'english',
  duration: 1.5,
  text: 'Hello.',
  words,
  segments: [segment],
  usage: { type: 'duration', seconds: 2 }
}
export const logprobs = [{ token: 'Hello', logprob: -0.1, bytes: [72] }]
export const usage = {
  type: 'tokens',
  input_tokens: 14,
  input_token_details: { text_tokens: 4, audio_tokens: 10 },
  output_tokens: 3,
  total_tokens: 17
}
