/** Gives a key a new text, with a period in which the old one also works. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/notice.tsx'
import { Select } from '../parts/select.tsx'
import { useAction } from '../state/action.ts'
import { KeySecret } from './key-secret.tsx'

type CreatedKey = Answer<'POST /admin/v1/keys/:key_id/rotate'>

const hourMs = 3_600_000
const overlaps = [
  { value: '0', label: 'Stops working now' },
  { value: String(hourMs), label: 'Works for 1 hour' },
  { value: String(24 * hourMs), label: 'Works for 1 day' },
  { value: String(7 * 24 * hourMs), label: 'Works for 7 days' }
]

export function RotateKey ({
  apiKey,
  onClose,
  onChanged
}: {
  readonly apiKey: CreatedKey['key']
  readonly onClose: () => void
  readonly onChanged: (key: CreatedKey['key']) => void
}): JSX.Element {
  const overlap = useSignal(String(24 * hourMs))
  const created = useSignal<CreatedKey | undefined>(undefined)
  const { run, busy, error } = useAction()
  const rotate = (): void => {
    void run(async () => {
      created.value = await api('POST /admin/v1/keys/:key_id/rotate', {
        at: { key_id: apiKey.id },
        body: { overlap_ms: Number(overlap.value) }
      })
      onChanged(created.value.key)
    })
  }
  if (created.value !== undefined) {
    return <KeySecret created={created.value} title='The new text of the key' onClose={onClose} />
  }
  return (
    <Dialog
      title={`Rotate “${apiKey.name}”`}
      onClose={onClose}
      onSubmit={rotate}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind='primary' type='submit' busy={busy}>
            Rotate
          </Button>
        </>
      }
    >
      <p class='muted'>The key gets a new text. Its limits, its permissions and what it has spent stay.</p>
      <Select
        label='The old text'
        value={overlap.value}
        choices={overlaps}
        onChange={value => {
          overlap.value = value
        }}
      />
      <Failure error={error} />
    </Dialog>
  )
}
