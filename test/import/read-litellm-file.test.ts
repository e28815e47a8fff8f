import t from 'tap'
import { resolve } from 'node:path'
import { readLitellmFile } from '../../lib/import/read-litellm-file.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'

function read (files: Readonly<Record<string, string>>): JsonObject {
  return readLitellmFile('a/config.yaml', path => {
    const [, text] = Object.entries(files).find(([name]) => resolve(name) === resolve(path)) ?? []
    if (text === undefined) throw new Error(`no ${path}`)
    return text
  })
}

t.test('included files add to lists and replace other entries, each once', async t => {
  t.same(read({
    'a/config.yaml':
      'include: [models/m.yaml, other.yaml]\nmodel_list: [{ model_name: a }]\nlitellm_settings: { x: 1 }',
    'a/models/m.yaml': 'include: [more.yaml, ../config.yaml]\nmodel_list: [{ model_name: b }]',
    'a/models/more.yaml': 'model_list: [{ model_name: d }]',
    'a/other.yaml': 'model_list: [{ model_name: c }]\nlitellm_settings: { y: 2 }'
  }), {
    model_list: ['a', 'b', 'c', 'd'].map(name => ({ model_name: name })),
    litellm_settings: { y: 2 }
  })
  t.throws(() => read({ 'a/config.yaml': 'include: [none.yaml]' }), { message: /none\.yaml/ })
})

t.test('merge keys are replaced by what they refer to', async t => {
  const { model_list: models } = read({
    'a/config.yaml': `
x-a: &a { api_key: one, rpm: 1 }
x-b: &b { api_key: two, tpm: 2, <<: { order: 3 } }
model_list:
  - { <<: *a, rpm: 5 }
  - { <<: [*a, *b] }
  - { <<: [] }`
  })
  t.same(models, [{ api_key: 'one', rpm: 5 }, { api_key: 'one', rpm: 1, tpm: 2, order: 3 }, {}])
})
