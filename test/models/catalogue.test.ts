import t from 'tap'
import data from '../../lib/models/catalogue.json' with { type: 'json' }
import { readCatalogue, catalogue } from '../../lib/models/catalogue.ts'

t.test('the catalogue', async t => {
  t.test('is valid', async t => {
    t.equal(readCatalogue(data).models.length, catalogue.length)
  })

  t.test('has the models of the wire contract', async t => {
    const known = new Set(catalogue.map(({ id }) => id))
    for (const id of [
      'openai/dall-e-2', 'openai/dall-e-3', 'openai/gpt-image-1', 'openai/text-embedding-ada-002',
      'openai/text-embedding-3-small', 'openai/text-embedding-3-large', 'google/text-embedding-004',
      'mistral/mistral-ocr-latest', 'openai/gpt-4o-transcribe', 'openai/gpt-4o-mini-transcribe',
      'openai/whisper-1', 'openai/tts-1', 'openai/tts-1-hd', 'openai/gpt-4o-mini-tts',
      'openai/gpt-5', 'openai/gpt-5-nano', 'anthropic/claude-3-5-sonnet'
    ]) t.ok(known.has(id), id)
  })

  t.test('has models of every provider label', async t => {
    t.same([...new Set(catalogue.map(({ providerId }) => providerId))].toSorted(),
      ['anthropic', 'deepseek', 'fireworks', 'google', 'groq', 'mistral', 'openai', 'xai'])
  })

  const good = {
    id: 'openai/x', display_name: 'X', description: 'X.', status: 'enabled', upstream_api: 'y', can: ['text']
  }

  t.test('refuses an invalid price with its position', async t => {
    const bad = { ...good, id: 'openai/z', price: { input: -1, source: 'a page', as_of: '2026-01-01' } }
    t.throws(() => readCatalogue({ families: [], models: [good, bad] }),
      { message: /\/models\/1\/price\/input \(openai\/z\) must be >= 0/ })
  })

  t.test('refuses a price without its date or source, unknown fields and duplicate ids', async t => {
    t.throws(
      () => readCatalogue({ families: [], models: [{ ...good, price: { input: 1, source: 'a page' } }] }),
      /as_of/
    )
    t.throws(
      () => readCatalogue({ families: [], models: [{ ...good, price: { input: 1, as_of: '2026-01-01' } }] }),
      /source/
    )
    t.throws(() => readCatalogue({ families: [], models: [{ ...good, prize: 1 }] }), /additional properties/)
    t.throws(() => readCatalogue({ families: [], models: [good, good] }), /\/models\/1 repeats openai\/x/)
    t.throws(() => readCatalogue([]), /the file/)
  })

  t.test('has a date for every model', async t => {
    t.same(catalogue.filter(({ createdAt }) => createdAt === undefined).map(({ id }) => id), [])
  })

  t.test('omits unknown values', async t => {
    const [entry] = readCatalogue({ families: [], models: [good] }).models
    t.notOk(entry !== undefined && ('price' in entry || 'createdAt' in entry))
    t.equal(entry?.capabilities.vision, false)
    t.notOk(entry !== undefined && 'input_token_limit' in entry.capabilities)
  })
})
