"""Proximal policy optimization and deep Q-learning of stable-baselines3, on a corridor."""

import gymnasium
import numpy as np
from report import report, steps
from stable_baselines3 import DQN, PPO


class Corridor(gymnasium.Env):
    """Steps to the left or right, and a reward at the right end."""

    observation_space = gymnasium.spaces.Box(-5, 5, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.time = 0, 0
        return self.seen(), {}

    def step(self, action):
        self.place += 2 * int(action) - 1
        self.time += 1
        return self.seen(), float(self.place == 3), self.place == 3, self.time >= 10, {}

    def seen(self):
        return np.array([np.clip(self.place, -5, 5), self.time / 10], np.float32)


for kind, options in ((PPO, {"n_steps": 32, "batch_size": 16}), (DQN, {"learning_starts": 16, "batch_size": 8})):
    agent = kind("MlpPolicy", Corridor(), seed=0, device="cpu", policy_kwargs={"net_arch": [16]}, **options)
    for _ in steps(1):
        agent.learn(96)
    report(**{f"{kind.__name__}.{name}": value for name, value in agent.policy.named_parameters()})
