// What a thread has of a library of NVIDIA's: a handle for each device, which no other thread uses at the same time.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "cuda/runtime.h"
#include "cuda/streams.h"

namespace adjoint::cuda {

/// This thread's session with a device, whose context it makes current. A thread that ends leaves its sessions to
/// others; they stay to the end of the process, when the driver may be gone before them.
template <class Session>
Session& thread_session(Device device) {
  struct Pool {
    std::mutex mutex;
    std::vector<Session*> idle[kMaxDevices];
  };
  static Pool& pool = *new Pool;
  struct Own {
    Session* sessions[kMaxDevices] = {};
    ~Own() {
      std::lock_guard lock(pool.mutex);
      for (int i = 0; i < kMaxDevices; ++i)
        if (sessions[i]) pool.idle[i].push_back(sessions[i]);
    }
  };
  // A pointer only: memory that every thread has from its start is short.
  thread_local std::unique_ptr<Own> own;
  if (!own) own = std::make_unique<Own>();
  use(device);
  Session*& session = own->sessions[device.index];
  if (session) [[likely]]
    return *session;
  {
    std::lock_guard lock(pool.mutex);
    auto& idle = pool.idle[device.index];
    if (!idle.empty()) {
      session = idle.back();
      idle.pop_back();
      return *session;
    }
  }
  const RelaxedCapture relaxed;  // libraries take memory
  session = std::make_unique<Session>().release();
  return *session;
}

}  // namespace adjoint::cuda
