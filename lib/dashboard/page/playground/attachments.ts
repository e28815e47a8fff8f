/** Files attached to a message: images, sound and PDF unchanged, anything else as its text. */

export type Part =
  | { readonly type: 'text', readonly text: string }
  | { readonly type: 'image_url', readonly image_url: { readonly url: string } }
  | {
      readonly type: 'input_audio'
      readonly input_audio: { readonly data: string, readonly format: 'wav' | 'mp3' }
    }
  | { readonly type: 'file', readonly file: { readonly filename: string, readonly file_data: string } }

export interface Attachment {
  readonly id: number
  readonly name: string
  readonly part: Part
}

const maxBytes = 12 * 1024 * 1024
let nextId = 0

/** @throws Error with a sentence for the reader if the file cannot be sent */
export async function readAttachment (file: File): Promise<Attachment> {
  if (file.size > maxBytes) throw new Error(`${file.name} is larger than 12 MB.`)
  return { id: nextId++, name: file.name, part: await partOf(file) }
}

async function partOf (file: File): Promise<Part> {
  if (file.type.startsWith('image/')) {
    return { type: 'image_url', image_url: { url: await readDataUrl(file) } }
  }
  if (/^audio\/(?:x-)?wav$|^audio\/(?:mpeg|mp3)$/.test(file.type)) {
    const data = (await readDataUrl(file)).replace(/^.*?,/, '')
    return { type: 'input_audio', input_audio: { data, format: file.type.includes('wav') ? 'wav' : 'mp3' } }
  }
  if (file.type === 'application/pdf') {
    return { type: 'file', file: { filename: file.name, file_data: await readDataUrl(file) } }
  }
  return { type: 'text', text: `${file.name}:\n\n${await readText(file)}` }
}

async function readText (file: File): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer())
  } catch {
    throw new Error(`${file.name} is neither text, an image, sound nor a PDF.`)
  }
}

export async function readDataUrl (file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => resolve(typeof reader.result === 'string' ? reader.result : ''))
    reader.addEventListener('error', () => reject(reader.error ?? new Error('The file cannot be read.')))
    reader.readAsDataURL(file)
  })
}
