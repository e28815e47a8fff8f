import { MediaStrings } from '../json/media-strings.ts'
import { parseInSlices } from '../json/parse-in-slices.ts'
import { bufferBody } from '../wire/buffer-body.ts'
import { SandboxRefusal } from './sandbox-refusal.ts'
import type { UpstreamRequest } from '../providers/provider.ts'

const maxDepth = 1000

/**
 * Parses the body of a request, a large one in slices.
 *
 * @param media its extracted media
 * @throws SandboxRefusal 400 for invalid JSON
 */
export async function readJsonBody (
  body: UpstreamRequest['body'],
  media = new MediaStrings()
): Promise<unknown> {
  try {
    return typeof body === 'string'
      ? JSON.parse(body)
      : await parseInSlices(await bufferBody(body), maxDepth, { media })
  } catch {
    throw new SandboxRefusal(400, 'The body is not JSON.', { code: 'invalid_json' })
  }
}
