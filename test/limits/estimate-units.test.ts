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

function file (name: string, sizeBytes: number, head: Uint8Array = new Uint8Array()): UploadedFile {
  return { name, sizeBytes, mediaType: 'audio/mpeg', head, open: async function * () {} }
}

function recording (name: string, sizeBytes: number, head?: Uint8Array): RecordingInput {
  return {
    task: 'transcribe',
    model: ['x'],
    file: file(name, sizeBytes, head),
    format: 'json',
    stream: false,
    logprobs: false,
    granularities: []
  }
}

t.test('the duration of a recording is limited by its size and format', async t => {
  t.match(estimateRecording(recording('a.wav', 1_764_000)), {
    units: { typical: { audioSeconds: 10 }, max: { audioSeconds: 2352 }, min: { audioSeconds: 10 } }
  })
  t.match(estimateRecording(recording('a.mp3', 1_600_000)), {
    units: { typical: { audioSeconds: 100 }, max: { audioSeconds: 2134 } },
    prompt: { typical: 1000 }
  })
  t.same(
    estimateRecording(recording('A.WAV', 1_764_000)),
    estimateRecording(recording('a.wav', 1_764_000)),
    'whatever the case of its name'
  )
})

t.test('the header of a WAV file without compression tells its duration', async t => {
  const header = (encoding: number, rate: number, channels: number, bits: number, inner = 0): Buffer => {
    const head = Buffer.alloc(60)
    head.write('RIFF')
    head.write('WAVEfmt ', 8)
    head.writeUInt16LE(encoding, 20)
    head.writeUInt16LE(channels, 22)
    head.writeUInt32LE(rate, 24)
    head.writeUInt16LE(bits, 34)
    head.writeUInt16LE(inner, 44)
    return head
  }
  const secondsOf = (head: Uint8Array): unknown =>
    estimateRecording(recording('a.wav', 480_000, head)).units?.max?.audioSeconds
  t.equal(secondsOf(header(7, 8000, 1, 8)), 60, 'telephone')
  const second = recording('a.wav', 8044, header(1, 8000, 1, 8))
  t.equal(estimateRecording(second).units?.max?.audioSeconds, 1, 'the header is no sound')
  t.equal(secondsOf(header(1, 48_000, 2, 16)), 3)
  t.equal(secondsOf(header(0xfffe, 16_000, 1, 24, 1)), 10, 'extensible')
  t.equal(secondsOf(header(0xfffe, 16_000, 1, 24, 0x55)), 640)
  t.equal(secondsOf(header(0x11, 8000, 1, 4)), 640, 'compressed')
  t.equal(secondsOf(header(1, 0, 1, 8)), 640, 'impossible')
  t.equal(secondsOf(header(1, 8000, 1, 8).subarray(0, 40)), 640, 'cut off')
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
  t.match(edited, {
    prompt: { typical: 13_000 }, units: { typical: { images: { count: 1 } }, answerTokens: 0 }
  })
  const partial = { prompt: 'x', n: 2, partial_images: 3 }
  t.match(estimateImages({ ...partial, stream: true }), {
    answer: { typical: 3200, limit: 13_600 },
    units: { answerTokens: 600 }
  }, 'partial images are billed too')
  t.match(estimateImages(partial), { answer: { typical: 2600 }, units: { answerTokens: 0 } })
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
