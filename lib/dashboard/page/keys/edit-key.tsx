/** Changes the name, the permissions and the limits of a key. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useAction } from '../state/action.ts'
import { draftKey, keyChangeOf } from './key-draft.ts'
import { keyFieldNames, KeyFields } from './key-fields.tsx'

type Key = Answer<'GET /admin/v1/keys/:key_id'>

export function EditKey ({
  apiKey,
  onClose,
  onChanged
}: {
  readonly apiKey: Key
  readonly onClose: () => void
  readonly onChanged: (key: Key) => void
}): JSX.Element {
  const draft = useSignal(draftKey(apiKey))
  const { run, busy, error } = useAction()
  const save = (): void => {
    void run(async () => {
      onChanged(
        await api('POST /admin/v1/keys/:key_id', {
          at: { key_id: apiKey.id },
          body: keyChangeOf(draft.value, apiKey)
        })
      )
      toast('Key saved')
      onClose()
    })
  }
  return (
    <Dialog
      title='Edit key'
      onClose={onClose}
      onSubmit={save}
      wide
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind='primary' type='submit' busy={busy} disabled={draft.value.name.trim() === ''}>
            Save
          </Button>
        </>
      }
    >
      <KeyFields
        draft={draft.value}
        onChange={next => {
          draft.value = next
        }}
        error={error}
        isNew={false}
      />
      <Failure error={error} fields={keyFieldNames} />
    </Dialog>
  )
}
