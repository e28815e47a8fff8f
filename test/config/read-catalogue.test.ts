import t from 'tap'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError, formatProblems } from '../../lib/config/problems.ts'
import { readSettings } from '../../lib/config/read-settings.ts'
import { watchSettings } from '../../lib/config/watch-settings.ts'
import { createModels } from '../../lib/models/create-models.ts'
import type { Settings } from '../../lib/core/settings.ts'
import { directory, failure } from '../support/config.ts'

const price = { input: 3, output: 5, source: 'a page', as_of: '2030-01-01' }
const model = {
  id: 'openai/gpt-6',
  display_name: 'Six',
  description: 'Newer.',
  status: 'enabled',
  upstream_api: 'chat-completions',
  can: ['text'],
  price
}
const file = (...models: readonly object[]): string => JSON.stringify({ families: [], models })

/** Returns the models of a gateway whose directory has this catalogue. */
function modelsOf (settings: Settings): ReturnType<typeof createModels> {
  return createModels(settings, new Set(['openai', 'google']))
}

t.test(
  'models of a catalogue file extend the built-in ones, and replace those with the same id',
  async t => {
    const cwd = directory(t, {
      'config/headgate.yaml': 'catalogue: newer.json',
      'config/newer.json': file(model, { ...model, id: 'openai/gpt-4o' })
    })
    const { settings } = readSettings({ env: {}, cwd, file: 'config/headgate.yaml' })
    const models = modelsOf(settings)
    t.match(models.find('openai/gpt-6'), {
      displayName: 'Six',
      price: { input: 3, output: 5, asOf: '2030-01-01' }
    })
    t.match(
      models.find('openai/gpt-6-2030-02-01')?.price,
      { input: 3 },
      'a snapshot has the price of its model'
    )
    t.match(models.find('openai/gpt-4o'), { displayName: 'Six', price: { input: 3 } })
    t.match(models.find('openai/gpt-4.1')?.price, { asOf: String }, 'a model that the file lacks stays')
  }
)

t.test('families of a catalogue file are matched before the built-in ones', async t => {
  const text = JSON.stringify({
    families: [{ kinds: ['google'], match: '^gemini-2', traits: { max_output_tokens: 7 } }],
    models: []
  })
  const { settings } = readSettings({
    env: {},
    cwd: directory(t, { 'headgate.yaml': 'catalogue: own.json', 'own.json': text })
  })
  const models = modelsOf(settings)
  t.match(models.routeTo('google', 'gemini-2.5-pro')?.traits, { maxOutputTokens: 7 })
  t.match(models.routeTo('google', 'gemini-2-unknown')?.traits, { maxOutputTokens: 7 })
  t.not(models.routeTo('google', 'gemini-3-pro')?.traits?.maxOutputTokens, 7)
})

t.test(
  'the configuration overrides the catalogue file, which may name models of routes',
  async t => {
    const yaml =
      'catalogue: own.json\nproviders: {openai: {base_url: http://127.0.0.1:9}}\n' +
      'models: {openai/gpt-6: {price: {input: 1}}}\nroutes: {six: [openai/gpt-6]}'
    const cwd = directory(t, { 'headgate.yaml': yaml, 'own.json': file(model) })
    const { settings, warnings } = readSettings({ env: {}, cwd })
    t.match(modelsOf(settings).find('openai/gpt-6')?.price, { input: 1, output: undefined })
    t.same(warnings, [])
  }
)

t.test(
  'every mistake in a catalogue file is reported with its place, next to those of the configuration',
  async t => {
    const text = `{
  "families": [{ "match": "a(", "traits": {} }],
  "models": [
    { "id": "openai/a", "display_name": "A", "description": "A.", "status": "enabled", "upstream_api": "x", "can": ["txt"],
      "price": { "input": -1, "source": "a page" } },
    { "id": "openai/a", "display_name": "A", "description": "A.", "status": "enabled", "upstream_api": "x", "can": [],
      "prize": 1 }
  ]
}`
    const cwd = directory(t, { 'headgate.yaml': 'server: {prot: 1}\ncatalogue: own.json', 'own.json': text })
    t.same(formatProblems(failure(() => readSettings({ env: {}, cwd }))).split('\n'), [
      'headgate.yaml:1:10  server.prot  unknown entry; did you mean server.port?',
      'own.json:2:27  families[0].match  is not a valid regular expression',
      'own.json:4:117  models[0].can[0]  must be one of text, vision, image_generation, audio, tools, structured_output, streaming, thinking; did you mean text?',
      'own.json:5:7  models[0].price.as_of  is missing',
      'own.json:5:27  models[0].price.input  must be at least 0',
      'own.json:6:13  models[1].id  another model has this id',
      'own.json:7:7  models[1].prize  unknown entry; did you mean models[1].price?'
    ])
    writeFileSync(join(cwd, 'headgate.yaml'), 'catalogue: own.json')
    const says = (text: string): string => {
      writeFileSync(join(cwd, 'own.json'), text)
      return formatProblems(failure(() => readSettings({ env: {}, cwd })))
    }
    t.match(says('{"families": [,'), /^own\.json:1:\d+ {2}not valid YAML/)
    t.equal(says('[]'), 'own.json:1:1  must be a map of entries')
    t.equal(says('{"models": []}'), 'own.json:1:1  families  is missing')
  }
)

t.test('days of a catalogue file must exist', async t => {
  const family = { match: 'a', traits: {}, as_of: '2030-02-30' }
  const broken = { ...model, created_at: '2030-13-01', price: { ...price, as_of: '2029-02-29' } }
  const cwd = directory(t, {
    'headgate.yaml': 'catalogue: own.json',
    'own.json': JSON.stringify({ families: [family], models: [broken] })
  })
  t.same(
    formatProblems(failure(() => readSettings({ env: {}, cwd })))
      .split('\n')
      .map(line => line.replace(/^\S+ +/, '')),
    ['families[0].as_of', 'models[0].price.as_of', 'models[0].created_at'].map(
      path => `${path}  is not a day that exists`
    )
  )
})

t.test('a missing or unreadable catalogue file is a problem of its entry', async t => {
  const says = (yaml: string): string =>
    formatProblems(failure(() => readSettings({ env: {}, cwd: directory(t, { 'headgate.yaml': yaml }) })))
  t.equal(says('catalogue: none.json'), 'headgate.yaml:1:12  catalogue  file not found')
  t.equal(says('catalogue: .'), 'headgate.yaml:1:12  catalogue  cannot be read (EISDIR)')
  t.equal(says('catalogue: ""'), 'headgate.yaml:1:12  catalogue  must not be empty')
})

t.test('the built-in catalogue is accepted as a catalogue file', async t => {
  const text = readFileSync(new URL('../../../lib/models/catalogue.json', import.meta.url), 'utf8')
  const { settings } = readSettings({
    env: {},
    cwd: directory(t, { 'headgate.yaml': 'catalogue: all.json', 'all.json': text })
  })
  t.same(modelsOf(settings).list(), modelsOf({ ...settings, catalogue: undefined }).list())
})

t.test(
  'a changed catalogue file is adopted, and a broken one is refused while the last valid one stays',
  async t => {
    const cwd = directory(t, { 'headgate.yaml': 'catalogue: lists/own.json', 'lists/own.json': file(model) })
    const heard: Array<Settings | ConfigError> = []
    let wake = (): void => {}
    const hear = (event: Settings | ConfigError): void => {
      heard.push(event)
      wake()
    }
    const watch = watchSettings({ env: {}, cwd }, hear, hear)
    t.teardown(() => watch.close())
    const next = async (): Promise<Settings | ConfigError> => {
      if (heard.length === 0) {
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
      const [event] = heard.splice(0, 1)
      if (event === undefined) throw new Error('nothing was heard')
      return event
    }
    const write = (text: string): void => writeFileSync(join(cwd, 'lists/own.json'), text)

    write(file({ ...model, price: { ...price, input: 4 } }))
    const changed = await next()
    if (changed instanceof ConfigError) throw changed
    t.equal(modelsOf(changed).find('openai/gpt-6')?.price?.input, 4)
    write(file({ ...model, price: { ...price, input: 'free' } }))
    t.match(await next(), {
      message: /^lists\/own\.json:1:\d+ {2}models\[0\]\.price\.input {2}must be a number$/
    })
    write(JSON.stringify({ families: [{ match: '^gpt', traits: {} }], models: [model] }))
    const families = await next()
    if (families instanceof ConfigError) throw families
    t.equal(families.catalogue?.families.length, 1)
    write(JSON.stringify({ families: [{ match: '^gpt-6', traits: {} }], models: [model] }))
    const pattern = await next()
    if (pattern instanceof ConfigError) throw pattern
    t.equal(pattern.catalogue?.families[0]?.match, '^gpt-6', 'also if only a pattern has changed')
  }
)
