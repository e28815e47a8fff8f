import t from 'tap'
import { localModels } from '../../lib/local/local-models.ts'
import { localPrograms } from '../../lib/local/programs.ts'

t.test('each installed program gives a model, free of cost', async t => {
  const { tesseract, espeak } = await localPrograms()
  const models = await localModels('here')
  t.same(
    models.map(({ id }) => id),
    [...(tesseract === undefined ? [] : ['here/ocr']), ...(espeak === undefined ? [] : ['here/tts'])]
  )
  for (const { id, providerId, model, status, price } of models) {
    t.strictSame([`${providerId}/${model}`, status, price?.input, price?.output], [id, 'enabled', 0, 0])
  }
})
