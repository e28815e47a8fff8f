import t from 'tap'
import { MediaStrings } from '../../lib/json/media-strings.ts'
import { parseInTurns } from '../../lib/json/parse-in-turns.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { jsonBody, splitChoices } from '../../lib/providers/json-request.ts'
import { bufferBody } from '../../lib/wire/buffer-body.ts'
import { providerSettings } from '../support/settings.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { Adapter, AdapterInput } from '../../lib/providers/provider.ts'
import type { ProviderKind } from '../../schemas/providers.ts'

t.test('a body is a text; that of a large request is printed whenever it is sent', async t => {
  const value = { image: 'A'.repeat(3_000_000), list: [1, { a: 'ä' }] }
  t.equal(jsonBody(value, {}), JSON.stringify(value))
  const body = jsonBody(value, { isLarge: true })
  t.type(body, 'function')
  for (let attempt = 0; attempt < 2; attempt++) t.ok((await bufferBody(body)).toString() === JSON.stringify(value))
})

const data = 'A'.repeat(1_200_000)
const question = {
  model: 'm',
  messages: [{
    role: 'user',
    content: [
      { type: 'text', text: 'hi' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
      { type: 'file', file: { file_data: data, filename: 'a.pdf' } }
    ]
  }]
} satisfies ChatInput

t.test('every provider gets the media of a request for what stands for it', async t => {
  const media = new MediaStrings()
  const shortened = await parseInTurns(Buffer.from(JSON.stringify(question)), 10, { media }) as ChatInput // the same with short strings
  t.ok(JSON.stringify(shortened).length < 10_000)
  const kinds: readonly ProviderKind[] = ['openai', 'anthropic', 'google', 'xai', 'mistral', 'azure-openai', 'ollama']
  for (const kind of kinds) {
    const { adapters, quirks } = createProvider(providerSettings(kind, kind), { send: async () => await Promise.reject(new Error('nothing may be sent')) })
    for (const [name, adapter] of [['chat', adapters.chat], ['tokenCount', adapters.tokenCount]] as const) {
      if (adapter === undefined) continue
      const print = async (request: ChatInput, given: Partial<AdapterInput<ChatInput>>): Promise<Buffer> =>
        await bufferBody((adapter as Adapter<ChatInput, unknown>).request({ request, route: { providerId: kind, model: 'm', modelId: `${kind}/m` }, quirks, streamed: false, ...given }).body)
      const expected = await print(question, {}).catch(message)
      const printed = await print(shortened, { isLarge: true, media }).catch(message)
      t.ok(typeof printed === 'string' || printed.equals(Buffer.from(expected)), `${kind} ${name} ${typeof printed === 'string' ? printed : ''}`)
    }
  }
})

const message = (error: unknown): string => Object(error).message

const ask = (n: unknown): AdapterInput<{ readonly n?: number | undefined, readonly more: string }> =>
  ({ request: { n: n as number, more: 'x' }, route: { providerId: 'a', model: 'b', modelId: 'a/b' }, quirks: {}, streamed: false }) // as endpoints without a check pass it on
const parts = (n: unknown, max: number): unknown[] => splitChoices(ask(n), max).map(({ request }) => request.n)

t.test('a request for many choices becomes several, of which single ones do not say so', async t => {
  t.same(parts(7, 3), [3, 3, undefined])
  t.same(parts(2, 1), [undefined, undefined])
  t.strictSame(splitChoices(ask(2), 1)[0], { ...ask(2), request: { n: undefined, more: 'x' } })
})

t.test('one that fits, or asks for no number, is the same object', async t => {
  for (const n of [1, 3, undefined, '5', Number.NaN]) {
    const given = ask(n)
    t.same(splitChoices(given, 3), [given])
  }
})
