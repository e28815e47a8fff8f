import t from 'tap'
import {
  estimateDocument,
  estimateImages,
  estimateRecording,
  estimateSpeech,
  embeddingsUsage,
  estimateEmbeddings
} from '../../lib/limits/estimate-units.ts'
import type { RecordingInput } from '../../lib/audio/input.ts'
import type { UploadedFile } from '../../lib/core/upload.ts'

function file (name: string, sizeBytes: number): UploadedFile {
  return { name, sizeBytes, mediaType: 'audio/mpeg', head: new Uint8Array(), open: async function * () {} }
}

function recording (name: string, sizeBytes: number): RecordingInput {
  return {
    task: 'transcribe',
    model: ['x'],
    file: file(name, sizeBytes),
    format: 'json',
    stream: false,
    logprobs: false,
    granularities: []
  }
}

t.test('the duration of a recording is limited by its size and format', async t => {
  t.match(estimateRecording(recording('a.wav', 1_764_000)), {
    units: { typical: { audioSeconds: 10 }, max: { audioSeconds: 111 }, min: { audioSeconds: 10 } }
  })
  t.match(estimateRecording(recording('a.mp3', 1_600_000)), {
    units: { typical: { audioSeconds: 100 }, max: { audioSeconds: 800 } },
    prompt: { typical: 1000 }
  })
  t.same(
    estimateRecording(recording('A.WAV', 1_764_000)),
    estimateRecording(recording('a.wav', 1_764_000)),
    'whatever the case of its name'
  )
})

t.test('speech is counted in characters and in audio tokens', async t => {
  t.match(estimateSpeech({ model: 'x', input: '𝄞'.repeat(8), voice: 'alloy', stream: false }), {
    units: { typical: { characters: 8 } }
  })
  t.match(estimateSpeech({ model: 'x', input: 'word'.repeat(100), voice: 'alloy', stream: false }), {
    prompt: { typical: 100 },
    answer: { typical: 600, limit: 1200 }
  })
})

t.test('images are counted by number, size and quality', async t => {
  t.match(estimateImages({ prompt: 'x', n: 3, size: '1024x1024', quality: 'low' }), {
    units: { typical: { images: { count: 3, size: '1024x1024', quality: 'low' } } }
  })
  const edited = estimateImages({
    prompt: '',
    image: [file('a.png', 1), file('b.png', 1)],
    input_fidelity: 'high'
  })
  t.match(edited, { prompt: { typical: 13_000 }, units: { typical: { images: { count: 1 } } } })
})

t.test('an uncountable document may have the maximum number of pages', async t => {
  const address = { kind: 'address', url: 'https://example.com/a.pdf', isImage: false } as const
  t.match(estimateDocument({ document: address }), {
    units: { typical: { pages: 1 }, max: { pages: 1000 }, min: { pages: 1 } }
  })
  t.match(estimateDocument({ document: { ...address, isImage: true } }), {
    units: { typical: { pages: 1 }, max: { pages: 1 } }
  })
  const bytes = { kind: 'bytes', mediaType: 'application/pdf', bytes: Buffer.alloc(1) } as const
  t.match(estimateDocument({ document: bytes, pages: 7 }), {
    units: { typical: { pages: 7 }, max: { pages: 7 }, min: { pages: 7 } }
  })
})

t.test('embedding inputs have no answer', async t => {
  const request = { model: 'm', input: [[1, 2, 3], [4]] }
  t.match(estimateEmbeddings(request), { prompt: { typical: 4 }, answer: { typical: 0, limit: 0 } })
  t.strictSame(embeddingsUsage(request), { promptTokens: 4, completionTokens: 0, totalTokens: 4 })
  const texts = { model: 'm', input: ['abcd', 'é', ''] }
  t.equal(estimateEmbeddings(texts).prompt.typical, 2, 'texts by their bytes')
})
