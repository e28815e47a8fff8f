/**
 * Requests and answers of megabytes: embeddings, speech, a recording, images; and small recordings. The mock
 * selects an answer by the path.
 */

export interface Media {
  readonly name: string
  readonly path: string
  readonly contentType: string
  readonly body: string
  /** The answer of the provider. */
  readonly answer: { readonly contentType: string, readonly body: Buffer }
  /** Bytes of the request and of the answer together. */
  readonly sizeBytes: number
  readonly callers: number
  /** Throws unless the answer is the provider's, as a caller should get it. */
  readonly check: (body: Buffer) => void
}

const dimensions = 2048
const inputs = 256
const vector = Array.from({ length: dimensions }, (_, at) => Number(Math.sin(at + 1).toFixed(8)))
const embeddings = JSON.stringify({
  object: 'list',
  data: Array.from({ length: inputs }, (_, index) => ({ object: 'embedding', index, embedding: vector })),
  model: 'bench-1-2025-11-21',
  usage: { prompt_tokens: 2048, total_tokens: 2048 }
})

const sound = Buffer.alloc(5_000_000, 'ID3 and five million bytes that stand for sound. ')

const boundary = 'headgate-bench'
const transcript = 'The gateway reads a batch of events and writes one piece.'

function transcription (name: string, recorded: string, callers: number): Media {
  const body = [
    `--${boundary}\r\ncontent-disposition: form-data; name="model"\r\n\r\nmock/json\r\n`,
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="speech.mp3"\r\ncontent-type: audio/mpeg\r\n\r\n`,
    recorded,
    `\r\n--${boundary}--\r\n`
  ].join('')
  return medium(name, '/v1/audio/transcriptions', {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body,
    callers,
    answer: { contentType: 'application/json', body: Buffer.from(JSON.stringify({ text: transcript })) },
    check: answer => {
      const { text } = JSON.parse(answer.toString()) as { text?: unknown }
      if (text !== transcript) throw new Error('another transcript came')
    }
  })
}

const image = 'iVBORw0KGgo'.padEnd(1_000_000, 'AAAAbase64')
const images = [
  ...[0, 1].map(at => ({
    type: 'image_generation.partial_image',
    partial_image_index: at,
    b64_json: image
  })),
  {
    type: 'image_generation.completed',
    b64_json: image,
    usage: { input_tokens: 50, output_tokens: 50, total_tokens: 100 }
  }
]
const imageStream = images.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')

export const media: readonly Media[] = [
  medium('embeddings, 256 × 2,048 numbers, 2 callers', '/v1/embeddings', {
    body: JSON.stringify({
      model: 'mock/json',
      input: Array.from({ length: inputs }, (_, index) => `text ${index}`),
      encoding_format: 'float'
    }),
    answer: { contentType: 'application/json', body: Buffer.from(embeddings) },
    check: body => {
      // a wrong shape throws below
      const { data } = JSON.parse(body.toString()) as {
        data: ReadonlyArray<{ embedding: readonly number[] }>
      }
      const wrong =
        data.length !== inputs ||
        data.some(({ embedding }) => embedding.length !== dimensions || embedding[7] !== vector[7])
      if (wrong) throw new Error('other vectors came')
    }
  }),
  medium('speech, 5 MB, 2 callers', '/v1/audio/speech', {
    body: JSON.stringify({ model: 'mock/json', input: 'Read this aloud.', voice: 'alloy' }),
    answer: { contentType: 'audio/mpeg', body: sound },
    check: body => {
      if (!body.equals(sound)) throw new Error('another sound came')
    }
  }),
  transcription('transcription, 10 MB, 2 callers', sound.toString('latin1').repeat(2), 2),
  transcription('transcription, 100 KB, 8 callers', sound.toString('latin1', 0, 100_000), 8),
  medium('streamed images, 3 MB, 2 callers', '/v1/images/generations', {
    body: JSON.stringify({ model: 'mock/gpt-image-1', prompt: 'a bench', stream: true, partial_images: 2 }),
    answer: { contentType: 'text/event-stream', body: Buffer.from(`${imageStream}data: [DONE]\n\n`) },
    check: body => {
      const found = body.toString().split('\n').filter(line => line.includes(image)).length
      if (found !== images.length) throw new Error(`${images.length} images were sent, ${found} came`)
    }
  })
]

/** Returns true for those measured per megabyte. */
export function isLarge ({ sizeBytes }: Media): boolean {
  return sizeBytes >= 1e6
}

function medium (
  name: string,
  path: string,
  parts: Pick<Media, 'body' | 'answer' | 'check'> & Partial<Media>
): Media {
  return {
    name,
    path,
    contentType: 'application/json',
    callers: 2,
    sizeBytes: parts.body.length + parts.answer.body.length,
    ...parts
  }
}
