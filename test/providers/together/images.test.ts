import t from 'tap'
import { testGateway, upstreamAt } from '../../support/gateway.ts'
import { fakeUpstream } from '../../support/upstream.ts'
import { until } from '../../support/until.ts'

const path = '/v1/images/generations'
const model = 'together/black-forest-labs/FLUX.1.1-pro'

t.test('size and format have the names of Together, and each request makes four images at most', async t => {
  const upstream = await fakeUpstream(({ json }) => {
    const count = Number(Reflect.get(Object(json), 'n') ?? 1)
    const data = Array.from({ length: count }, (_, index) => ({ index, b64_json: 'AAAA', type: 'b64_json' }))
    return { pieces: [JSON.stringify({ id: 'x', model: 'm', object: 'list', data })] }
  })
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [upstreamAt(`${upstream.url}/v1`, 'together', 'together')] })
  const full = {
    model,
    prompt: 'a cat',
    n: 2,
    size: '1024x768',
    response_format: 'b64_json',
    output_format: 'jpeg',
    quality: 'high',
    style: 'vivid',
    moderation: 'low',
    user: 'u'
  }
  t.match(await (await api.post(path, full)).json(), {
    created: Number, data: [{ b64_json: 'AAAA' }, { b64_json: 'AAAA' }]
  })
  await api.post(path, { model, prompt: 'a cat', size: 'auto', response_format: 'url' })
  t.same(upstream.requests.map(({ json }) => json), [
    {
      model: 'black-forest-labs/FLUX.1.1-pro',
      prompt: 'a cat',
      n: 2,
      width: 1024,
      height: 768,
      response_format: 'base64',
      output_format: 'jpeg'
    },
    { model: 'black-forest-labs/FLUX.1.1-pro', prompt: 'a cat', response_format: 'url' }
  ])

  upstream.requests.length = 0
  const many = await api.post(path, { model, prompt: 'a cat', n: 9 })
  t.equal(((await many.json()) as { data: unknown[] }).data.length, 9)
  const counts = upstream.requests.map(({ json }) => Number(Reflect.get(Object(json), 'n') ?? 1))
  t.same(counts.toSorted((a, b) => a - b), [1, 4, 4])
  const streamed = await (await api.post(path, { model, prompt: 'a cat', stream: true })).text()
  t.match(streamed, /^data: \{"type":"image_generation.completed","b64_json":"AAAA"/)
  t.notMatch(upstream.requests.at(-1)?.text, 'stream')
  await until(() => api.lines.length === 4, 'four lines in the log')

  for (const [param, value] of [['background', 'transparent'], ['output_format', 'webp']] as const) {
    const refused = await api.post(path, { model, prompt: 'a cat', [param]: value })
    t.equal(refused.status, 400)
    t.match(await refused.json(), { error: { code: 'unsupported_parameter', param } })
  }
})
