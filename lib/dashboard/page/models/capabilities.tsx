/** Descriptions of a model's capabilities. */

import type { JSX } from 'preact'
import { Clip } from '../parts/clip.tsx'
import type { CatalogueEntry } from '../state/catalogue.ts'

const names: Readonly<Record<string, string>> = {
  vision: 'images in',
  image_generation: 'images out',
  audio: 'audio',
  tools: 'tools',
  structured_output: 'JSON schema',
  thinking: 'thinking'
}

export function Capabilities ({ model }: { readonly model: CatalogueEntry }): JSX.Element {
  const list = Object.entries(names).filter(([name]) => model.capabilities[name] === true)
  return list.length === 0 ? (
    <span class='faint'>–</span>
  ) : (
    <Clip kind='faint'>{list.map(([, label]) => label).join(', ')}</Clip>
  )
}
