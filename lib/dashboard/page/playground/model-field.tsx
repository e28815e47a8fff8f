/** The model of a request, by name. */

import { useSignalEffect, type Signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { catalogue, loadCatalogue, type CatalogueEntry } from '../state/catalogue.ts'
import { ModelSelect } from './model-select.tsx'

/** @param suits selects the models that support such requests; the first is used if none is chosen */
export function ModelField ({
  model,
  suits
}: {
  readonly model: Signal<string>
  readonly suits: (entry: CatalogueEntry) => boolean
}): JSX.Element {
  useEffect(() => {
    void loadCatalogue()
  }, [])
  useSignalEffect(() => {
    const first = catalogue.value.find(entry => entry.status !== 'disabled' && suits(entry))
    if (model.peek() === '' && first !== undefined) model.value = first.id
  })
  return (
    <div class='field'>
      <span class='label' aria-hidden='true'>
        Model
      </span>
      <ModelSelect
        label='Model'
        value={model.value}
        onChange={value => {
          model.value = value
        }}
        suits={suits}
      />
    </div>
  )
}
