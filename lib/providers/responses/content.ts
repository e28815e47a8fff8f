/** Converts the content of messages, part by part. */

import { GatewayError } from '../../core/errors.ts'
import type { FilePart, UserPart } from '../../../schemas/messages.ts'
import type { InputPart } from './wire.ts'

/**
 * Returns the content of an input message.
 *
 * @param param location in the request: `messages[0].content`
 * @throws GatewayError `unsupported_parameter` for audio
 */
export function inputContent (content: string | readonly UserPart[], param: string): string | InputPart[] {
  return typeof content === 'string'
    ? content
    : content.map((part, index) => inputPart(part, `${param}[${index}]`))
}

function inputPart (part: UserPart, param: string): InputPart {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text }
    case 'image_url':
      return { type: 'input_image', image_url: part.image_url.url, detail: part.image_url.detail ?? 'auto' }
    case 'file':
      return filePart(part)
    case 'input_audio':
  }
  throw new GatewayError('unsupported_parameter', {
    message: 'This model does not support audio input.',
    param
  })
}

function filePart ({ file: { file_data: data, file_id: id, filename } }: FilePart): InputPart {
  return {
    type: 'input_file',
    ...typeof data === 'string' && (/^https?:\/\//i.test(data) ? { file_url: data } : { file_data: data }),
    ...typeof id === 'string' && { file_id: id },
    ...typeof filename === 'string' && { filename }
  }
}
