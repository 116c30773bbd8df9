// Streams and events that programs ask for by name.
#pragma once

#include <cstdint>

#include "core/streams.h"
#include "cuda/driver.h"

namespace adjoint::cuda {

/// One of a device's streams, which are made once and handed out in turn; none is ever destroyed, for freed memory is
/// kept by the stream it was used on. Below 0: one of a higher priority.
Stream pooled_stream(int index, int priority);
/// The priority that a stream was made with.
int priority_of(Stream stream);
/// The least and the greatest priority, as torch has them.
inline constexpr int kLeastPriority = 0, kGreatestPriority = -3;

/// Whether everything that was queued on a stream, or before an event, is done.
bool is_done(int index, Stream stream);
bool is_done(int index, Event event);

Event make_event(int index, bool timed, bool blocking);
void destroy_event(Event event);
void record(int index, Event event, Stream stream);
/// What is queued on the stream from now on waits for the event.
void wait(int index, Stream stream, Event event);
/// What is queued on `later` from now on waits for what is queued on `first` so far.
void follow(int first_index, Stream first, int later_index, Stream later);
void synchronize_event(int index, Event event);
/// Milliseconds between two events that were made to measure time.
float elapsed(int index, Event begin, Event end);

/// Whether what is queued on this thread's stream of a device goes into a graph.
bool is_capturing(int index);
bool is_captured(int index, Stream stream);

/// What the tape asks of streams.
const StreamFunctions& functions_of_streams();

/// While it lives, this thread may take memory and load code even where a graph is being captured.
class RelaxedCapture {
 public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  int mode_ = kCaptureRelaxed;  ///< the former one while it lives
};

}  // namespace adjoint::cuda
