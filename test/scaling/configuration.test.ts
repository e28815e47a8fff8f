/** Configurations are read, checked and indexed in time linear in their size. */

import t from 'tap'
import { scalesWith } from '../support/scaling.ts'
import { ConfigError } from '../../lib/config/problems.ts'
import { readSettings } from '../../lib/config/read-settings.ts'
import { createModels } from '../../lib/models/create-models.ts'
import { mayUseModel } from '../../lib/models/scope.ts'

const map = <T>(
  size: number,
  name: (index: number) => string,
  value: (index: number) => T
): Record<string, T> =>
  Object.fromEntries(Array.from({ length: size }, (_, index) => [name(index), value(index)]))
const names = (size: number, name: (index: number) => string): string[] =>
  Array.from({ length: size }, (_, index) => name(index))

const provider = { kind: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1' }
const one = { providers: { one: provider } }
const model = (index: number): string => `one/m${index}`
const entry = { price: { input: 1, output: 2 }, attributes: { intelligence: 0.5 } }

const configurations: Readonly<Record<string, (size: number) => Record<string, unknown>>> = {
  'providers': size => ({
    providers: map(
      size,
      index => `p${index}`,
      () => provider
    )
  }),
  'models': size => ({ ...one, models: map(size, model, () => entry) }),
  'aliases of one model': size => ({
    ...one,
    models: {
      'one/m': entry,
      ...map(
        size,
        index => `a${index}`,
        () => ({ alias: 'one/m' })
      )
    }
  }),
  'aliases of aliases': size => ({
    ...one,
    models: {
      'a0': { alias: 'one/m' },
      ...map(
        size,
        index => `a${index + 1}`,
        index => ({ alias: `a${index}` })
      )
    }
  }),
  'routes': size => ({
    ...one,
    models: map(size, model, () => entry),
    routes: map(
      size,
      index => `r${index}`,
      index => [model(index), model(0)]
    )
  }),
  'models of one route': size => ({
    ...one,
    models: map(size, model, () => entry),
    routes: { r: { strategy: 'weighted', models: names(size, model) } }
  }),
  'routes of routes': size => ({
    ...one,
    routes: {
      r0: ['one/m'],
      ...map(
        Math.min(size, 256),
        index => `r${index + 1}`,
        index => [`r${index}`]
      )
    }
  }),
  'keys': size => ({
    ...one,
    keys: names(size, index => `KEY_${index}`).map(key => ({
      name: key,
      key: `env:${key}`,
      models: ['one/*']
    }))
  }),
  'patterns of a key': size => ({
    ...one,
    keys: [{ name: 'k', key: 'env:KEY_0', models: names(size, model) }]
  }),
  'tool servers': size => ({
    ...one,
    mcp_servers: map(
      size,
      index => `tools/s${index}`,
      () => ({ url: 'https://tools.example/mcp' })
    )
  }),
  'models of providers that are none': size => ({
    models: map(
      size,
      index => `p${index}/m`,
      () => entry
    )
  }),
  'routes to models that are none': size => ({
    ...one,
    models: map(size, model, () => entry),
    routes: map(
      size,
      index => `r${index}`,
      index => [`none${index}`]
    )
  }),
  'entries that are none': size => ({ ...one, models: map(size, model, () => ({ pric: 1 })) })
}

const env = map(1024, index => `KEY_${index}`, index => `secret ${index}`)

t.test('a configuration is read in time linear in its size', async t => {
  for (const [name, configuration] of Object.entries(configurations)) {
    scalesWith(t, name, {
      from: 64,
      doublings: 3,
      input: configuration,
      run: config => unlessRefused(() => {
        const { settings } = readSettings({ env, cwd: t.testdirName, config })
        createModels(settings, new Set(settings.providers.map(({ id }) => id)))
      })
    })
  }
})

const texts: Readonly<Record<string, (size: number) => string>> = {
  'entries': size => names(size, index => `a${index}: 1`).join('\n'),
  'entries in braces': size => `{${names(size, index => `a${index}: 1`).join()}}`,
  'duplicates': size => names(size, index => `a${index}: 1\na${index}: 2`).join('\n'),
  'anchors, each with its alias': size =>
    names(size, index => `a${index}: &a${index} 1\nb${index}: *a${index}`).join('\n'),
  'aliases of one anchor': size => `a: &a 1\nb: [${'*a,'.repeat(size)}]`,
  'aliases of all': size => `a: &a [${'1,'.repeat(size)}]\nb: [${'*a,'.repeat(size)}]`,
  'entries that are none': size =>
    `models:\n${names(size, index => `  one/m${index}: {pric: 1}`).join('\n')}`
}

t.test('the text of a configuration is read in time linear in its size', async t => {
  for (const [name, text] of Object.entries(texts)) {
    scalesWith(t, name, {
      from: 64,
      doublings: 4,
      input: text,
      run: text => unlessRefused(() => { readSettings({ env, cwd: t.testdirName, text }) })
    })
  }
})

t.test('the models of a key are found in time linear in its patterns', async t => {
  scalesWith(t, 'patterns', {
    input: size => names(size, model),
    run: models => mayUseModel({ id: 'key', name: 'key', models }, 'one/none')
  })
})

/** Runs what may be refused for what is wrong in a configuration. */
function unlessRefused (run: () => void): void {
  try {
    run()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
  }
}
