import t from 'tap'
import { catalogue } from '../../lib/models/catalogue.ts'
import { defaultModels } from '../../lib/models/default-models.ts'

t.test('the default models are in the catalogue', async t => {
  for (const endpoint of ['images', 'ocr'] as const) {
    for (const { id } of defaultModels({ catalogue: undefined }, endpoint)) {
      t.ok(
        catalogue.some(model => model.id === id),
        id
      )
    }
  }
})

t.test(
  'a configured catalogue has its own defaults, with traits of known models',
  async t => {
    const own = { file: 'own.json', families: [], models: [] }
    t.match(defaultModels({ catalogue: { ...own, defaults: { ocr: ['one/reader'] } } }, 'ocr'), [
      { id: 'one/reader', traits: undefined }
    ])
    t.same(
      defaultModels({ catalogue: { ...own, defaults: { ocr: ['one/reader'] } } }, 'images'),
      defaultModels({ catalogue: own }, 'images')
    )
  }
)
