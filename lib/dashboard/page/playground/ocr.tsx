/** Reads a document. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { Copy } from '../parts/copy.tsx'
import { useAction } from '../state/action.ts'
import type { CatalogueEntry } from '../state/catalogue.ts'
import { readDataUrl } from './attachments.ts'
import { call } from './call.ts'
import { FileField } from './file-field.tsx'
import { Markdown } from './markdown.tsx'
import { ModelField } from './model-field.tsx'
import { Trial } from './trial.tsx'

interface OcrPage { readonly index: number, readonly markdown: string }

const reads = ({ id, kind }: CatalogueEntry): boolean => kind === 'model' && /ocr|reader/.test(id)

export function Ocr (): JSX.Element {
  const action = useAction()
  const model = useSignal('')
  const file = useSignal<File | undefined>(undefined)
  const pages = useSignal<readonly OcrPage[] | undefined>(undefined)
  const read = async (): Promise<void> => {
    if (file.value === undefined) return
    const document_url = await readDataUrl(file.value)
    const response = await call('/v1/ocr', {
      body: { model: model.value, document: { type: 'document_url', document_url } }
    })
    const answer = (await response.json()) as { readonly pages: readonly OcrPage[] }
    pages.value = answer.pages
  }
  return (
    <Trial
      action={action}
      button='Read the document'
      ready={model.value !== '' && file.value !== undefined}
      onSubmit={read}
      icon='audit'
      empty='The pages appear here'
      fields={
        <>
          <ModelField model={model} suits={reads} />
          <FileField
            label='Document'
            accept='application/pdf,image/png,image/jpeg,image/webp'
            file={file.value}
            onFile={chosen => {
              file.value = chosen
            }}
          />
        </>
      }
      result={pages.value?.map(({ index, markdown }) => (
        <section class='stack tight' key={index}>
          <div class='row between'>
            <h3>Page {index + 1}</h3>
            <Copy text={markdown} label={`Copy page ${index + 1}`} />
          </div>
          <Markdown text={markdown} />
        </section>
      ))}
    />
  )
}
