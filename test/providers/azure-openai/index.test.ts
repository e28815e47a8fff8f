import OpenAI, { toFile } from 'openai'
import t from 'tap'
import { sound, wav } from '../../support/audio.ts'
import { testGateway, testKey, upstreamAt } from '../../support/gateway.ts'
import { fakeUpstream, type Script, type SeenRequest } from '../../support/upstream.ts'

const image = 'iVBORw0KGgo='

function answer ({ path }: SeenRequest): Script {
  if (path.includes('/audio/speech')) return { headers: { 'content-type': 'audio/mpeg' }, pieces: [sound] }
  if (path.includes('/audio/')) return { pieces: ['{"text":"Hello."}'] }
  if (path.includes('/images/')) return { pieces: [`{"created":1,"data":[{"b64_json":"${image}"}]}`] }
  return { pieces: ['{"data":[{"index":0,"embedding":[0.5]}],"usage":{"prompt_tokens":1,"total_tokens":1}}'] }
}

for (const [apiVersion, addressOf] of [
  [undefined, (path: string) => `/openai/v1/${path}`],
  ['2025-04-01-preview', (path: string) => `/openai/deployments/mine/${path}?api-version=2025-04-01-preview`]
] as const) {
  t.test(`each endpoint has its Azure address, ${apiVersion ?? 'unversioned'}`, async t => {
    const upstream = await fakeUpstream(answer)
    t.teardown(upstream.close)
    const options = apiVersion === undefined ? {} : { api_version: apiVersion }
    const provider = upstreamAt(upstream.url, 'azure-openai', 'azure-openai', { options })
    const api = await testGateway(t, { providers: [provider] })
    const client = new OpenAI({ baseURL: `${api.url}/v1`, apiKey: testKey })
    const model = 'azure-openai/mine'
    const { data } = await client.embeddings.create({ model, input: 'hi', encoding_format: 'float' })
    t.same(data[0]?.embedding, [0.5])
    t.equal((await client.images.generate({ model, prompt: 'a cat' })).data?.[0]?.b64_json, image)
    const photo = await toFile(Buffer.from(image, 'base64'), 'cat.png', { type: 'image/png' })
    t.equal(
      (await client.images.edit({ model, image: photo, prompt: 'a hat' })).data?.[0]?.b64_json,
      image
    )
    const spoken = await client.audio.speech.create({ model, input: 'Hello', voice: 'alloy' })
    t.same(Buffer.from(await spoken.arrayBuffer()), sound)
    for (const audio of [client.audio.transcriptions, client.audio.translations]) {
      t.equal((await audio.create({ model, file: await toFile(wav, 'talk.wav') })).text, 'Hello.')
    }
    t.same(
      upstream.requests.map(({ path }) => path),
      [
        'embeddings',
        'images/generations',
        'images/edits',
        'audio/speech',
        'audio/transcriptions',
        'audio/translations'
      ].map(addressOf)
    )
  })
}
