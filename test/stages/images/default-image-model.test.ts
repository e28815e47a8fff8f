import t from 'tap'
import { defaultImageModel } from '../../../lib/stages/images/default-image-model.ts'
import { settings } from '../../support/settings.ts'

const file = {
  name: 'a.png',
  head: Buffer.alloc(0),
  mediaType: 'image/png',
  sizeBytes: 0,
  open: async function* () {
    yield Buffer.alloc(0)
  }
}

t.test('the oldest model answers, unless only the newest has the parameters', async t => {
  const choose = defaultImageModel({ settings: settings() }, 'generation')
  for (const request of [
    {},
    { stream: false },
    { quality: 'auto' },
    { quality: 'standard' },
    { size: '1024x1024' },
    { n: 2 },
    { prompt: 'x'.repeat(2000) }
  ]) {
    t.equal(choose(request), 'openai/dall-e-2', JSON.stringify(request).slice(0, 60))
  }
  for (const request of [
    { output_format: 'png' },
    { output_compression: 0 },
    { stream: true },
    { moderation: 'auto' },
    { partial_images: 0 },
    { background: 'auto' },
    { quality: 'low' },
    { size: '1536x1024' },
    { size: '1024x1536' }
  ]) {
    t.equal(choose(request), 'openai/gpt-image-1', JSON.stringify(request))
  }
  t.equal(choose({ size: '7x7' }), 'openai/dall-e-2', 'what none has is refused in the words of the first')
})

t.test('the task and the number of files count too', async t => {
  const edit = defaultImageModel({ settings: settings() }, 'edit')
  t.equal(edit({ image: [file] }), 'openai/dall-e-2')
  t.equal(edit({ image: [file, file] }), 'openai/gpt-image-1')
  t.equal(defaultImageModel({ settings: settings() }, 'variation')({ stream: true }), 'openai/dall-e-2')
})
