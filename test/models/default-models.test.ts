import t from 'tap'
import { catalogue } from '../../lib/models/catalogue.ts'
import { defaultModels } from '../../lib/models/default-models.ts'

t.test('the defaults of the catalogue are models of it', async t => {
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
  'a catalogue of the operator has defaults of its own, with traits where it knows the model',
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
