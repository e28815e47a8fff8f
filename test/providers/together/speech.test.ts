import t from 'tap'
import { said, sound, speech } from '../../support/audio.ts'
import { testGateway, upstreamAt } from '../../support/gateway.ts'
import { fakeUpstream } from '../../support/upstream.ts'

t.test('the formats that it writes are requested by its names, and the audio is labelled as them', async t => {
  const upstream = await fakeUpstream({
    headers: { 'content-type': 'application/octet-stream' }, pieces: [sound]
  })
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [upstreamAt(`${upstream.url}/v1`, 'together', 'together')] })
  const request = { ...said, model: 'together/hexgrad/Kokoro-82M' }
  const sent = { model: 'hexgrad/Kokoro-82M', input: said.input, voice: 'alloy' }
  for (const [more, mediaType, fields] of [
    [{}, 'audio/mpeg', { response_format: 'mp3' }],
    [{ stream_format: 'sse', instructions: 'x', speed: 2 }, 'audio/mpeg', { response_format: 'mp3' }],
    [{ response_format: 'wav' }, 'audio/wav', { response_format: 'wav' }],
    [{ response_format: 'pcm' }, 'audio/pcm', {
      response_format: 'raw', response_encoding: 'pcm_s16le', sample_rate: 24_000
    }]
  ] as const) {
    const response = await api.post(speech, { ...request, ...more })
    t.same(Buffer.from(await response.arrayBuffer()), sound)
    t.equal(response.headers.get('content-type'), mediaType)
    t.same(upstream.requests.pop()?.json, { ...sent, ...fields })
  }
  const refused = await api.post(speech, { ...request, response_format: 'opus' })
  t.equal(refused.status, 400)
  t.match(await refused.json(), { error: { code: 'unsupported_parameter', param: 'response_format' } })
})
