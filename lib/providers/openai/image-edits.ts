/**
 * Adapters for the two image endpoints that take files as form data.
 *
 * @see https://platform.openai.com/docs/api-reference/images/createEdit
 */

import { randomUUID } from 'node:crypto'
import { imageKind } from '../../images/files.ts'
import { multipartBody, type FormPart } from '../../wire/multipart.ts'
import { readError } from '../chat-completions/errors.ts'
import { outputFields, pick, readImages } from './images.ts'
import type { UploadedFile } from '../../core/upload.ts'
import type { ImageEvent } from '../../core/events.ts'
import type { ImageEdit, ImageVariation } from '../../images/input.ts'
import type { Adapter, UpstreamRequest } from '../provider.ts'

export const openaiImageEdits: Adapter<ImageEdit, ImageEvent> = {
  request: input => {
    const { image, mask } = input.request
    const fields = {
      model: input.route.model,
      ...pick(input, [
        'prompt',
        'n',
        'size',
        'response_format',
        'input_fidelity',
        'output_format',
        'background',
        'moderation',
        'user'
      ]),
      ...outputFields(input)
    }
    // Older models only know the field without brackets, and take one image.
    const name = image.length > 1 ? 'image[]' : 'image'
    const files = image.map(file => filePart(name, file))
    return formRequest(
      '/images/edits',
      fields,
      mask === undefined ? files : [...files, filePart('mask', mask)],
      input.streamed
    )
  },
  read: readImages,
  error: readError
}

export const openaiImageVariations: Adapter<ImageVariation, ImageEvent> = {
  request: input => {
    const fields = { model: input.route.model, ...pick(input, ['n', 'size', 'response_format', 'user']) }
    return formRequest('/images/variations', fields, [filePart('image', input.request.image)], false)
  },
  read: readImages,
  error: readError
}

function formRequest (
  path: string, fields: Readonly<Record<string, unknown>>, files: readonly FormPart[], streamed: boolean
): UpstreamRequest {
  const texts = Object.entries(fields).map(([name, value]): FormPart => ({ name, value: String(value) }))
  // Files come last, so that a streaming server knows the parameters first.
  const { headers, open } = multipartBody([...texts, ...files])
  const accept = streamed ? 'text/event-stream' : 'application/json'
  return { method: 'POST', path, headers: { ...headers, accept }, body: open }
}

/**
 * Creates a file part with a name and type derived from its content: providers rely on both, and callers
 * often send neither.
 */
function filePart (name: string, { head, sizeBytes, open }: UploadedFile): FormPart {
  const { mediaType, extension } = imageKind(head) ?? {
    mediaType: 'application/octet-stream',
    extension: 'bin'
  }
  return { name, fileName: `${randomUUID()}.${extension}`, mediaType, sizeBytes, open }
}
